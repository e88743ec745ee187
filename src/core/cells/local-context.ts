// The one CellContext of this process: over a log that is memory or SQLite, live or replayed.
//
//   X1. Operations are numbered in call order; settlements are handed out in recorded order. So a replay takes the same path.
//   X2. A step with a hold, or one that leaves something behind, starts after its begin frame is durable: else what it did, or
//       the key that it did it under, could be one that the log does not know.
//   X3. An operation settles once. What comes after that is ignored, and its hold is given back once.
//   X4. Only steps take slots of a lane; waiting for a child or for time takes none.
import { CloisterError } from '#base';
import type { CellId, Failure, Json } from '#base';
import type {
  Agent,
  Attempt,
  ChildOperation,
  FrameAttachment,
  Frame,
  LiveEvent,
  Operation,
  PendingOperation,
  PostOperation,
  ReceiveOperation,
  Settlement,
  SleepOperation,
  SpawnIdentity,
  StepOperation,
  TeamPart,
  OperationValue,
} from '#contracts';
import type { Account } from './account.ts';
import { ReceivedCrossings } from './received-crossings.ts';
import { beginRecord, settleRecord } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import { endChild } from './end-child.ts';
import { resumeOperation } from './resume-operation.ts';
import { InFlight } from './in-flight.ts';
import type { LocalRun } from './local-run.ts';
import type { RecordedCell } from './recorded-run.ts';
import { decidePost, replayedRecord, postRecord } from './post-record.ts';
import type { PostRecord } from './post-record.ts';
import { differenceIn, earliestOf, operationKind, settlementOf } from './replay.ts';
import { startReceive, startSleep } from './start-wait.ts';
import { StepRunner } from './step-runner.ts';
import type { SettleExtras, InFlightOperation } from './step-runner.ts';
import type { CellSeed, CellRuntime } from './cell-runtime.ts';

export class LocalContext implements CellRuntime {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly account: Account;
  readonly liveRun: LocalRun;
  readonly arrivals: ReceivedCrossings;
  now: number;
  nowIn = 0;
  view: CellRuntime['view'] = null;
  readonly parent: CellId | null;
  readonly spawned: SpawnIdentity | null;
  readonly task: TeamPart | null;

  readonly #recorded: RecordedCell | undefined;
  #nextOperation = 0;
  #nextRecordedId = 0;
  readonly #inFlight = new InFlight();
  #attempt: Attempt | undefined;
  #ids: CellId[] | undefined;
  #halted: Failure | null = null;
  /** What settled after this frame is no longer handed out. */
  #haltedAt = Infinity;
  #haltedTime = 0;
  readonly #bornIn: number;

  constructor(run: LocalRun, birth: CellSeed, account: Account) {
    this.liveRun = run;
    this.cellId = birth.cell;
    this.agent = birth.agent;
    this.depth = birth.depth;
    this.parent = birth.parent;
    this.spawned = birth.spawned;
    this.task = birth.task ?? null;
    this.now = birth.bornAt;
    this.account = account;
    this.#recorded = run.recorded?.cells.get(birth.cell);
    this.#bornIn = this.#recorded?.bornIn ?? run.nextFrame - 1;
    const known = { bornIn: this.#bornIn, recorded: this.#recorded?.contents, nextFrame: () => this.nextFrame };
    this.arrivals = new ReceivedCrossings(birth, known);
    if (birth.frame !== undefined) this.arrivals.take(birth.frame);
    if (run.replaying === null && (birth.spawned !== null || birth.agent.messages !== null))
      run.post.register({ ...birth, cellId: birth.cell, arrivals: this.arrivals, halt: () => this.halt() });
    const { halted } = this.#recorded ?? {};
    if (halted) this.#halt(halted.failure, halted.order, halted.at);
  }

  begin<O extends Operation>(operation: O): PendingOperation<O> {
    const started: InFlightOperation = {
      no: this.#nextOperation++,
      operation,
      settled: undefined,
      result: undefined,
      order: 0,
      stop: undefined,
    };
    this.#inFlight.add(started);
    const recorded = this.#recorded?.begins.get(started.no);
    if (recorded !== undefined) this.#replay(started, recorded);
    else if (this.liveRun.replaying === null && operation.do === 'post') this.#post(started, operation);
    else if (this.liveRun.replaying === null)
      this.#start(started, this.#writeBegin(started as InFlightOperation<WaitableOperation>));
    // On replay: the log ends before this, or went another way. It never settles.
    else this.liveRun.beyond({ cell: this.cellId, agent: this.agent.name, op: started.no }, operation);
    return started as unknown as PendingOperation<O>;
  }

  first<P extends PendingOperation>(pending: readonly P[]): Promise<P> {
    const all = pending as unknown as readonly InFlightOperation[];
    const earliest = earliestOf(all, this.#haltedAt);
    if (earliest !== undefined) return Promise.resolve(this.#handOut(earliest) as unknown as P);
    if (this.#halted !== null) return Promise.reject(this.#haltError());
    // What the log does not have will not come.
    this.liveRun.replaying?.leave();
    return new Promise((resolve, reject) => {
      this.#inFlight.wait({ pending: all, resolve: resolve as (one: unknown) => void, reject });
    });
  }

  async run<O extends Operation>(operation: O): Promise<Settlement<OperationValue<O>>> {
    const pending = await this.first([this.begin(operation)]);
    return pending.settled!;
  }

  cancel(pending: PendingOperation, reason: Failure = { code: 'cancelled' }): void {
    (pending as unknown as InFlightOperation).stop?.(reason);
  }

  living<P extends PendingOperation>(pending: readonly P[]): readonly P[] {
    // Once it is stopped, so are they.
    return this.#haltedAt <= this.nextFrame ? [] : this.unended(pending);
  }

  unended<P extends PendingOperation>(pending: readonly P[]): readonly P[] {
    const { nextFrame } = this;
    return pending.filter((one) => {
      const { result, order } = one as unknown as InFlightOperation;
      return result === undefined || order >= nextFrame;
    });
  }

  newCellId(agent: string, keep = 0): CellId | null {
    const recorded = this.#recorded?.ids[this.#nextRecordedId++];
    const id =
      recorded ??
      (this.account.canSpawn(keep)
        ? (`${agent}-${/* probe: child-id */ this.liveRun.ports.ids.random()}` as CellId)
        : ('' as CellId));
    if (recorded === undefined || this.liveRun.replaying !== null) (this.#ids ??= []).push(id);
    return id === '' ? null : id;
  }

  get nextFrame(): number {
    return this.#recorded?.begins.get(this.#nextOperation)?.no ?? this.liveRun.nextFrame;
  }

  get downMs(): number {
    return this.liveRun.downBetween(this.#bornIn, this.nowIn);
  }

  goalOr(asked: string): string {
    return this.liveRun.amendments.goalAt(this.cellId, this.#nextOperation, this.nextFrame) ?? asked;
  }

  /** Of the step of this number: the same on every re-run. */
  keyOf(no: number): string {
    const { amendments, ports } = this.liveRun;
    return amendments.keyOf(`${this.cellId}/${no}`, this.#recorded?.begins.get(no)?.no, ports.run);
  }

  note(fact: FrameAttachment): void {
    this.#attempt = fact.attempt;
  }

  emit(event: LiveEvent): void {
    this.liveRun.ports.onLive?.(this.cellId, this.agent.name, event);
  }

  get heard(): boolean {
    return this.liveRun.ports.heard?.() ?? false;
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** Stops this cell and all below it: operations settle as cancelled, and `first` rejects. */
  halt(failure: Failure = { code: 'cancelled' }, atFrame = this.liveRun.nextFrame, at = this.liveRun.time()): void {
    if (this.#halted !== null) return;
    this.#halt(failure, atFrame, at);
    this.#inFlight.stopAll(failure, () => this.#haltError());
  }

  #halt(failure: Failure, atFrame: number, at: number): void {
    this.#halted = failure;
    this.#haltedAt = atFrame;
    this.#haltedTime = at;
  }

  /** From here on it is as late as when it was stopped. */
  #haltError(): CloisterError {
    this.now = Math.max(this.now, this.#haltedTime);
    this.nowIn = Math.max(this.nowIn, this.#haltedAt);
    return new CloisterError(this.#halted?.code ?? 'cancelled');
  }

  /** When every operation that began has settled. */
  async drained(): Promise<void> {
    if (this.#inFlight.isEmpty) return;
    this.liveRun.replaying?.leave();
    await this.#inFlight.emptied();
  }

  /** Decided and recorded at once; then it is in the boxes of those that it is for. */
  #post(started: InFlightOperation, operation: PostOperation): void {
    const at = this.liveRun.time();
    this.#countStep(operation);
    const result: Settlement<Json> =
      this.#halted === null ? decidePost(operation, at) : { at, ok: false, failure: this.#halted };
    const frame = this.liveRun.write(this.cellId, at, postRecord(started.no, operation, result, this.#haltedBy), {
      ...this.#riding(),
    });
    this.liveRun.post.deliver(frame);
    this.#arrive(started, result, frame.no);
  }

  /** What rides in the next frame of this cell, once. */
  #riding(): { readonly attempt: Attempt | undefined; readonly ids: readonly CellId[] | undefined } {
    const riding = { attempt: this.#attempt, ids: this.#ids };
    this.#attempt = undefined;
    this.#ids = undefined;
    return riding;
  }

  #countStep(operation: Operation): void {
    if (operation.do !== 'sleep' && typeof operation.about?.['step'] === 'number') this.account.countStep();
  }

  #writeBegin({ operation, no }: InFlightOperation<WaitableOperation>): Frame {
    const at = this.liveRun.time();
    if (operation.do === 'child') this.account.countSpawn();
    this.#countStep(operation);
    const frame = this.liveRun.write(this.cellId, at, beginRecord(operation, no, at, this), {
      ...this.#riding(),
      born: operation.do === 'child' ? operation.agent : undefined,
    });
    if (operation.do === 'child') this.arrivals.take(frame);
    return frame;
  }

  #start(started: InFlightOperation, frame: Frame): void {
    if (this.#halted !== null && started.operation.do !== 'child') return this.fail(started, this.#halted);
    switch (started.operation.do) {
      case 'step':
        return new StepRunner(this, this.liveRun.ports, started as InFlightOperation<StepOperation>).start();
      case 'child':
        return this.startChild(started as InFlightOperation<ChildOperation>, frame.at, frame);
      case 'sleep':
        return startSleep(this, started as InFlightOperation<SleepOperation>, started.operation.ms);
      case 'receive':
        return startReceive(this, started as InFlightOperation<ReceiveOperation>, started.operation.timeoutMs);
      case 'post':
    }
  }

  startChild(started: InFlightOperation<ChildOperation>, bornAt: number, frame?: Frame): void {
    const { operation } = started;
    const { cell, agent, caps, share, grants, goal, spawned = null, task } = operation;
    const account = this.liveRun.accountOf(cell, this.account, caps);
    if (operation.floor !== undefined && this.liveRun.recorded?.cells.has(cell) !== true)
      account.floor = operation.floor;
    this.liveRun.replaying?.enter(cell, agent.name);
    const child = new LocalContext(
      this.liveRun,
      { cell, agent, depth: this.depth + 1, parent: this.cellId, spawned, task, bornAt, goal, ...(frame && { frame }) },
      account,
    );
    this.liveRun.bear(child);
    if (share !== undefined)
      this.liveRun.keepShare(cell, { from: this.cellId, runtime: child, grants, now: () => share.now() });
    // On replay the log says when it was stopped.
    const stop = (failure: Failure): void => child.halt(failure);
    // probe: child-stop
    if (this.liveRun.replaying === null) started.stop = stop;
    // probe: child-born-halted
    if (this.#halted !== null) child.halt(this.#halted, this.#haltedAt, this.#haltedTime);
    const recorded = this.liveRun.replaying === null ? undefined : this.#recorded?.settles.get(started.no);
    void this.liveRun.runChild(operation, child).then((outcome) => endChild(this, started, outcome, recorded));
  }

  get #haltedBy(): { readonly at: number; readonly failure: Failure } | undefined {
    // probe: cell-halted-by
    return this.#halted === null ? undefined : { at: this.#haltedTime, failure: this.#halted };
  }

  fail(started: InFlightOperation, failure: Failure, more?: SettleExtras): void {
    this.settle(started, { at: this.liveRun.time(), ok: false, failure }, more);
  }

  /** Writes the settlement and hands it to whoever waits. */
  settle(started: InFlightOperation, result: Settlement<Json>, more?: SettleExtras): void {
    if (started.result !== undefined) return;
    const frame = this.liveRun.write(this.cellId, result.at, settleRecord(started.no, result, more, this.#haltedBy));
    if (more?.ended !== undefined) this.arrivals.take(frame);
    if (more?.ended !== undefined && this.liveRun.hasMail) this.liveRun.post.deliver(frame);
    this.#arrive(started, result, frame.no);
  }

  #arrive(started: InFlightOperation, result: Settlement<Json>, order: number): void {
    started.result = result;
    started.order = order;
    started.stop = undefined;
    this.#inFlight.remove(started, (one) => this.#handOut(one));
  }

  #handOut(started: InFlightOperation): InFlightOperation {
    started.settled = started.result as Settlement<never>;
    this.now = Math.max(this.now, started.result!.at);
    this.nowIn = Math.max(this.nowIn, started.order);
    return started;
  }

  #replay(started: InFlightOperation, frame: Frame & { readonly record: BeginRecord | PostRecord }): void {
    const { record } = frame;
    if (this.liveRun.replaying !== null) return this.#replayWhole(started, frame);
    const seen = { prompt: this.#attempt?.prompt, recorded: frame.attempt?.prompt };
    const difference = differenceIn(started.operation, record, seen);
    this.liveRun.ledger.discard();
    this.#attempt = undefined;
    if (difference !== null) {
      this.liveRun.break(
        new CloisterError('replay_differs', `Operation ${started.no} of ${this.cellId}: ${difference}.`),
      );
      return this.fail(started, { code: 'replay_differs' });
    }
    const settled = this.#recorded!.settles.get(started.no);
    // probe: replay-settled
    if (settled === undefined && record.type === 'begin') resumeOperation(this, started, record);
    else if (settled !== undefined) this.#arrive(started, settlementOf(settled.record, settled.at), settled.no);
  }

  /** Children are run again too; their callers are handed the recorded end at once, and both are compared. */
  #replayWhole(started: InFlightOperation, frame: Frame & { readonly record: BeginRecord | PostRecord }): void {
    const { operation, no } = started;
    const { record } = frame;
    const made = replayedRecord(operation, no, frame, this);
    this.liveRun.compare(frame, { record: made, ...this.#riding() });
    const isSame = operationKind(record) === operation.do && record.name === made.name;
    const settled = this.#recorded!.settles.get(no);
    if (isSame && settled !== undefined) this.#arrive(started, settlementOf(settled.record, settled.at), settled.no);
    if (isSame && operation.do === 'child') this.startChild(started as InFlightOperation<ChildOperation>, frame.at);
  }
}

type WaitableOperation = Exclude<Operation, PostOperation>;
