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
  Fact,
  Frame,
  LiveEvent,
  Operation,
  Pending,
  PostOperation,
  ReceiveOperation,
  Settled,
  SleepOperation,
  SpawnedAs,
  StepOperation,
  TeamPart,
  ValueOf,
} from '#contracts';
import type { Account } from './account.ts';
import { Arrivals } from './arrivals.ts';
import { beginRecord, settleRecord } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import { endChild } from './end-child.ts';
import { goOn } from './go-on.ts';
import { InFlight } from './in-flight.ts';
import type { LocalRun } from './local-run.ts';
import type { RecordedCell } from './recorded.ts';
import { decided, madeRecord, postRecord } from './post-record.ts';
import type { PostRecord } from './post-record.ts';
import { differenceIn, earliestOf, kindOf, settledAs } from './replay.ts';
import { startReceive, startSleep } from './start-waiting.ts';
import { StepRunner } from './step-runner.ts';
import type { SettleExtras, Started } from './step-runner.ts';
import type { Beginning, Home } from './home.ts';

export class LocalContext implements Home {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly account: Account;
  readonly host: LocalRun;
  readonly arrivals: Arrivals;
  now: number;
  nowIn = 0;
  view: Home['view'] = null;
  readonly parent: CellId | null;
  readonly spawned: SpawnedAs | null;
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

  constructor(run: LocalRun, birth: Beginning, account: Account) {
    this.host = run;
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
    this.arrivals = new Arrivals(birth, known);
    if (birth.frame !== undefined) this.arrivals.take(birth.frame);
    if (run.replaying === null && (birth.spawned !== null || birth.agent.messages !== null))
      run.post.enlist({ ...birth, cellId: birth.cell, arrivals: this.arrivals, halt: () => this.halt() });
    const { halted } = this.#recorded ?? {};
    if (halted) this.#halt(halted.failure, halted.order, halted.at);
  }

  begin<O extends Operation>(operation: O): Pending<O> {
    const started: Started = {
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
    else if (this.host.replaying === null && operation.do === 'post') this.#post(started, operation);
    else if (this.host.replaying === null) this.#start(started, this.#writeBegin(started as Started<Begun>));
    // On replay: the log ends before this, or went another way. It never settles.
    else this.host.beyond({ cell: this.cellId, agent: this.agent.name, op: started.no }, operation);
    return started as unknown as Pending<O>;
  }

  first<P extends Pending>(pending: readonly P[]): Promise<P> {
    const all = pending as unknown as readonly Started[];
    const earliest = earliestOf(all, this.#haltedAt);
    if (earliest !== undefined) return Promise.resolve(this.#handOut(earliest) as unknown as P);
    if (this.#halted !== null) return Promise.reject(this.#haltError());
    // What the log does not have will not come.
    this.host.replaying?.leave();
    return new Promise((resolve, reject) => {
      this.#inFlight.wait({ pending: all, resolve: resolve as (one: unknown) => void, reject });
    });
  }

  async run<O extends Operation>(operation: O): Promise<Settled<ValueOf<O>>> {
    const pending = await this.first([this.begin(operation)]);
    return pending.settled!;
  }

  cancel(pending: Pending, reason: Failure = { code: 'cancelled' }): void {
    (pending as unknown as Started).stop?.(reason);
  }

  living<P extends Pending>(pending: readonly P[]): readonly P[] {
    // Once it is stopped, so are they.
    return this.#haltedAt <= this.nextFrame ? [] : this.unended(pending);
  }

  unended<P extends Pending>(pending: readonly P[]): readonly P[] {
    const { nextFrame } = this;
    return pending.filter((one) => {
      const { result, order } = one as unknown as Started;
      return result === undefined || order >= nextFrame;
    });
  }

  newCellId(agent: string, keep = 0): CellId | null {
    const recorded = this.#recorded?.ids[this.#nextRecordedId++];
    const id =
      recorded ??
      (this.account.canSpawn(keep)
        ? (`${agent}-${/* probe: child-id */ this.host.ports.ids.random()}` as CellId)
        : ('' as CellId));
    if (recorded === undefined || this.host.replaying !== null) (this.#ids ??= []).push(id);
    return id === '' ? null : id;
  }

  get nextFrame(): number {
    return this.#recorded?.begins.get(this.#nextOperation)?.no ?? this.host.nextFrame;
  }

  get downMs(): number {
    return this.host.downBetween(this.#bornIn, this.nowIn);
  }

  goalOr(asked: string): string {
    return this.host.amendments.goalAt(this.cellId, this.#nextOperation, this.nextFrame) ?? asked;
  }

  /** Of the step of this number: the same on every re-run. */
  keyOf(no: number): string {
    return this.host.amendments.keyOf(`${this.cellId}/${no}`, this.#recorded?.begins.get(no)?.no, this.host.ports.run);
  }

  note(fact: Fact): void {
    this.#attempt = fact.attempt;
  }

  emit(event: LiveEvent): void {
    this.host.ports.onLive?.(this.cellId, this.agent.name, event);
  }

  get heard(): boolean {
    return this.host.ports.heard?.() ?? false;
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** Stops this cell and all below it: operations settle as cancelled, and `first` rejects. */
  halt(failure: Failure = { code: 'cancelled' }, atFrame = this.host.nextFrame, at = this.host.time()): void {
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
    this.host.replaying?.leave();
    await this.#inFlight.emptied();
  }

  /** Decided and recorded at once; then it is in the boxes of those that it is for. */
  #post(started: Started, operation: PostOperation): void {
    const at = this.host.time();
    this.#countStep(operation);
    const result: Settled<Json> =
      this.#halted === null ? decided(operation, at) : { at, ok: false, failure: this.#halted };
    const frame = this.host.write(this.cellId, at, postRecord(started.no, operation, result, this.#haltedBy), {
      ...this.#riding(),
    });
    this.host.post.deliver(frame);
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

  #writeBegin({ operation, no }: Started<Begun>): Frame {
    const at = this.host.time();
    if (operation.do === 'child') this.account.countSpawn();
    this.#countStep(operation);
    const frame = this.host.write(this.cellId, at, beginRecord(operation, no, at, this), {
      ...this.#riding(),
      born: operation.do === 'child' ? operation.agent : undefined,
    });
    if (operation.do === 'child') this.arrivals.take(frame);
    return frame;
  }

  #start(started: Started, frame: Frame): void {
    if (this.#halted !== null && started.operation.do !== 'child') return this.fail(started, this.#halted);
    switch (started.operation.do) {
      case 'step':
        return new StepRunner(this, this.host.ports, started as Started<StepOperation>).start();
      case 'child':
        return this.startChild(started as Started<ChildOperation>, frame.at, frame);
      case 'sleep':
        return startSleep(this, started as Started<SleepOperation>, started.operation.ms);
      case 'receive':
        return startReceive(this, started as Started<ReceiveOperation>, started.operation.timeoutMs);
      case 'post':
    }
  }

  startChild(started: Started<ChildOperation>, bornAt: number, frame?: Frame): void {
    const { operation } = started;
    const { cell, agent, caps, share, grants, goal, spawned = null, task } = operation;
    const account = this.host.accountOf(cell, this.account, caps);
    if (operation.floor !== undefined && this.host.recorded?.cells.has(cell) !== true) account.floor = operation.floor;
    this.host.replaying?.enter(cell, agent.name);
    const child = new LocalContext(
      this.host,
      { cell, agent, depth: this.depth + 1, parent: this.cellId, spawned, task, bornAt, goal, ...(frame && { frame }) },
      account,
    );
    this.host.bear(child);
    if (share !== undefined)
      this.host.keepShare(cell, { from: this.cellId, home: child, grants, now: () => share.now() });
    // On replay the log says when it was stopped.
    const stop = (failure: Failure): void => child.halt(failure);
    // probe: child-stop
    if (this.host.replaying === null) started.stop = stop;
    // probe: child-born-halted
    if (this.#halted !== null) child.halt(this.#halted, this.#haltedAt, this.#haltedTime);
    const recorded = this.host.replaying === null ? undefined : this.#recorded?.settles.get(started.no);
    void this.host.runChild(operation, child).then((outcome) => endChild(this, started, outcome, recorded));
  }

  get #haltedBy(): { readonly at: number; readonly failure: Failure } | undefined {
    // probe: cell-halted-by
    return this.#halted === null ? undefined : { at: this.#haltedTime, failure: this.#halted };
  }

  fail(started: Started, failure: Failure, more?: SettleExtras): void {
    this.settle(started, { at: this.host.time(), ok: false, failure }, more);
  }

  /** Writes the settlement and hands it to whoever waits. */
  settle(started: Started, result: Settled<Json>, more?: SettleExtras): void {
    if (started.result !== undefined) return;
    const frame = this.host.write(this.cellId, result.at, settleRecord(started.no, result, more, this.#haltedBy));
    if (more?.ended !== undefined) this.arrivals.take(frame);
    if (more?.ended !== undefined && this.host.hasMail) this.host.post.deliver(frame);
    this.#arrive(started, result, frame.no);
  }

  #arrive(started: Started, result: Settled<Json>, order: number): void {
    started.result = result;
    started.order = order;
    started.stop = undefined;
    this.#inFlight.remove(started, (one) => this.#handOut(one));
  }

  #handOut(started: Started): Started {
    started.settled = started.result as Settled<never>;
    this.now = Math.max(this.now, started.result!.at);
    this.nowIn = Math.max(this.nowIn, started.order);
    return started;
  }

  #replay(started: Started, frame: Frame & { readonly record: BeginRecord | PostRecord }): void {
    const { record } = frame;
    if (this.host.replaying !== null) return this.#replayWhole(started, frame);
    const seen = { prompt: this.#attempt?.prompt, recorded: frame.attempt?.prompt };
    const difference = differenceIn(started.operation, record, seen);
    this.host.ledger.discard();
    this.#attempt = undefined;
    if (difference !== null) {
      this.host.break(new CloisterError('replay_differs', `Operation ${started.no} of ${this.cellId}: ${difference}.`));
      return this.fail(started, { code: 'replay_differs' });
    }
    const settled = this.#recorded!.settles.get(started.no);
    // probe: replay-settled
    if (settled === undefined && record.type === 'begin') goOn(this, started, record);
    else if (settled !== undefined) this.#arrive(started, settledAs(settled.record, settled.at), settled.no);
  }

  /** Children are run again too; their callers are handed the recorded end at once, and both are compared. */
  #replayWhole(started: Started, frame: Frame & { readonly record: BeginRecord | PostRecord }): void {
    const { operation, no } = started;
    const { record } = frame;
    const made = madeRecord(operation, no, frame, this);
    this.host.compare(frame, { record: made, ...this.#riding() });
    const isSame = kindOf(record) === operation.do && record.name === made.name;
    const settled = this.#recorded!.settles.get(no);
    if (isSame && settled !== undefined) this.#arrive(started, settledAs(settled.record, settled.at), settled.no);
    if (isSame && operation.do === 'child') this.startChild(started as Started<ChildOperation>, frame.at);
  }
}

type Begun = Exclude<Operation, PostOperation>;
