// The only CellContext implementation: on a log in memory or SQLite, live or replayed.
//
//   X1. Operations are numbered in call order, and settlements are handed out in recorded order, so a replay takes the same path.
//   X2. A step with a hold or with side effects starts only after its begin frame is durable. Otherwise a crash could leave
//       an effect, or an idempotency key, that the log does not know.
//   X3. An operation settles once, and its hold is released once. Anything later is ignored.
//   X4. Only steps take slots of a lane. Waiting for a child or for time takes none.
import { CloisterError } from '#base';
import type { CellId, Failure, Json } from '#base';
import type { Agent, Attempt, Crossed, FrameAttachment, Frame, LiveEvent, SpawnIdentity, TeamPart } from '#contracts';
import type { BeginOperation, ChildOperation, Operation, OperationValue, PendingOperation } from '#contracts';
import type { PostOperation, ReceiveOperation, Settlement, SleepOperation, StepOperation } from '#contracts';
import type { Account } from './account.ts';
import { ReceivedCrossings } from './received-crossings.ts';
import { beginRecord, settleRecord } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import { endChild } from './end-child.ts';
import { resumeOperation } from './resume-operation.ts';
import { InFlight } from './in-flight.ts';
import type { LocalRun } from './local-run.ts';
import type { RecordedCell } from './recorded-run.ts';
import { decidePost } from './mail-room.ts';
import { replayedRecord, postRecord } from './post-record.ts';
import type { PostRecord } from './post-record.ts';
import { findDifference, earliestSettled, isSettledBefore, operationKind, readSettlement } from './replay.ts';
import { startReceive, startSleep } from './start-wait.ts';
import { SpawnedChildren } from './spawned-children.ts';
import type { SpawnedChild } from './spawned-children.ts';
import { StepRunner } from './step-runner.ts';
import type { SettleExtras, InFlightOperation } from './step-runner.ts';
import type { CellSeed, CellRuntime } from './cell-runtime.ts';

export class LocalContext implements CellRuntime {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly account: Account;
  readonly liveRun: LocalRun;
  readonly receivedCrossings: ReceivedCrossings;
  readonly createdAt: number;
  now: number;
  nowFrame = 0;
  view: CellRuntime['view'] = null;
  outsideSpawner: CellRuntime['outsideSpawner'] = null;
  readonly parent: CellId | null;
  readonly spawned: SpawnIdentity | null;
  readonly task: TeamPart | null;

  readonly #recorded: RecordedCell | undefined;
  #nextOperation = 0;
  #nextRecordedId = 0;
  readonly #inFlight = new InFlight();
  /** Created on first use: most cells spawn nothing. */
  #spawned: SpawnedChildren | null = null;
  #attempt: Attempt | undefined;
  #ids: CellId[] | undefined;
  #halted: Failure | null = null;
  /** Operations that settled after this frame are no longer handed out. */
  #haltedAtFrame = Infinity;
  #haltedTime = 0;
  readonly createdInFrame: number;

  constructor(run: LocalRun, seed: CellSeed, account: Account) {
    this.liveRun = run;
    this.cellId = seed.cell;
    this.agent = seed.agent;
    this.depth = seed.depth;
    this.parent = seed.parent;
    this.spawned = seed.spawned;
    this.task = seed.task ?? null;
    this.createdAt = this.now = seed.createdAt;
    this.account = account;
    this.#recorded = run.recorded?.cells.get(seed.cell);
    this.createdInFrame = this.#recorded?.createdInFrame ?? run.nextFrame - 1;
    const receivedCrossings = (this.receivedCrossings = new ReceivedCrossings(this, seed.goal));
    if (seed.frame !== undefined) receivedCrossings.addFromFrame(seed.frame);
    if (run.replaying === null && (seed.spawned !== null || seed.agent.messages !== null))
      run.mail.register({ ...seed, cellId: seed.cell, receivedCrossings, halt: () => this.halt() });
    const { halted } = this.#recorded ?? {};
    if (halted) this.#halt(halted.failure, halted.order, halted.at);
  }

  begin<O extends Operation>(operation: O): PendingOperation<O> {
    const started = this.#inFlight.add(this.#nextOperation++, operation);
    const recorded = this.#recorded?.begins.get(started.no);
    const frame = recorded?.no ?? this.liveRun.nextFrame;
    if (recorded !== undefined) this.#replay(started, recorded);
    else if (this.liveRun.replaying === null && operation.do === 'post') this.#post(started, operation);
    else if (this.liveRun.replaying === null) this.#start(started as InFlightOperation<BeginOperation>);
    // On replay, the log ends before this operation or took another path. The operation never settles.
    else this.liveRun.reportUnexpected({ cell: this.cellId, agent: this.agent.name, op: started.no }, operation);
    if (operation.do === 'child' && operation.spawned !== undefined)
      (this.#spawned ??= new SpawnedChildren()).add(started as InFlightOperation<ChildOperation>, this.now, frame);
    return started as unknown as PendingOperation<O>;
  }

  beginOutside(operation: ChildOperation): void {
    const spawned = (this.#spawned ??= new SpawnedChildren());
    const started = this.#inFlight.add(spawned.nextOutsideNumber, operation);
    const child = started as InFlightOperation<ChildOperation>;
    const recorded = this.#recorded?.begins.get(started.no);
    const written = recorded === undefined ? this.#writeBegin(child) : undefined;
    const { at, no } = recorded ?? written!;
    spawned.addOutside(child, at, no);
    if (recorded !== undefined) this.#replay(started, recorded);
    else this.startChild(child, at, written);
  }

  get spawnedChildren(): readonly SpawnedChild[] {
    return this.#spawned?.before(this.nextFrame) ?? [];
  }

  get outsideSpawns(): number {
    return this.#spawned?.outsideBefore(this.nextFrame) ?? 0;
  }

  first<P extends PendingOperation>(pending: readonly P[]): Promise<P> {
    this.liveRun.ports.stalls?.end(this.cellId);
    const all = pending as unknown as readonly InFlightOperation[];
    const earliest = earliestSettled(all, this.#haltedAtFrame);
    if (earliest !== undefined) return Promise.resolve(this.#handOut(earliest) as unknown as P);
    if (this.#halted !== null) return Promise.reject(this.#haltError());
    // On replay, an operation that the log does not settle never will.
    this.liveRun.replaying?.leave();
    return new Promise((resolve, reject) => {
      this.#inFlight.wait({ pending: all, resolve: resolve as (one: unknown) => void, reject });
    });
  }

  async run<O extends Operation>(operation: O): Promise<Settlement<OperationValue<O>>> {
    return (await this.first([this.begin(operation)])).settled!;
  }

  cancel(pending: PendingOperation, reason: Failure = { code: 'cancelled' }): void {
    (pending as unknown as InFlightOperation).stop?.(reason);
  }

  get isStopped(): boolean {
    return this.#haltedAtFrame <= this.nextFrame;
  }

  unsettled<P extends PendingOperation>(pending: readonly P[]): readonly P[] {
    const { nextFrame } = this;
    return pending.filter((one) => !isSettledBefore(one as unknown as InFlightOperation, nextFrame));
  }

  newCellId(agent: string, reserve = 0): CellId | null {
    const recorded = this.#recorded?.ids[this.#nextRecordedId++];
    const id =
      recorded ??
      (this.account.canSpawn(reserve)
        ? (`${agent}-${/* probe: child-id */ this.liveRun.ports.ids.random()}` as CellId)
        : ('' as CellId));
    if (recorded === undefined || this.liveRun.replaying !== null) (this.#ids ??= []).push(id);
    return id === '' ? null : id;
  }

  get nextFrame(): number {
    return this.#recorded?.begins.get(this.#nextOperation)?.no ?? this.liveRun.nextFrame;
  }

  get downMs(): number {
    return this.liveRun.downBetween(this.createdInFrame, this.nowFrame);
  }

  amendedGoal(requested: string): string {
    return this.liveRun.amendments.goalAt(this.cellId, this.#nextOperation, this.nextFrame) ?? requested;
  }

  /** The idempotency key of this step: the same on every re-run. */
  stepKey(no: number): string {
    const { amendments, ports } = this.liveRun;
    return amendments.stepKey(`${this.cellId}/${no}`, this.#recorded?.begins.get(no)?.no, ports.run);
  }

  attach({ attempt }: FrameAttachment): void {
    this.#attempt = attempt;
  }

  emit(event: LiveEvent): void {
    this.liveRun.ports.onLive?.(this.cellId, this.agent.name, event);
  }

  get hasLiveListeners(): boolean {
    return this.liveRun.ports.hasLiveListeners?.() ?? false;
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** Stops this cell and its descendants: operations settle as cancelled, and `first` rejects. */
  halt(failure: Failure = { code: 'cancelled' }, atFrame = this.liveRun.nextFrame, at = this.liveRun.time()): void {
    if (this.#halted !== null) return;
    this.#halt(failure, atFrame, at);
    this.#inFlight.stopAll(failure, () => this.#haltError());
  }

  #halt(failure: Failure, atFrame: number, at: number): void {
    this.#halted = failure;
    this.#haltedAtFrame = atFrame;
    this.#haltedTime = at;
  }

  /** Also moves the cell's time forward to when it was stopped. */
  #haltError(): CloisterError {
    this.now = Math.max(this.now, this.#haltedTime);
    this.nowFrame = Math.max(this.nowFrame, this.#haltedAtFrame);
    return new CloisterError(this.#halted?.code ?? 'cancelled');
  }

  /** Resolves when every operation that began has settled. */
  async whenAllSettled(): Promise<void> {
    if (this.#inFlight.isEmpty) return;
    this.liveRun.replaying?.leave();
    await this.#inFlight.whenEmpty();
  }

  /** Decides and records the post in one synchronous stretch, then delivers it to the recipients' mailboxes. */
  #post(started: InFlightOperation, operation: PostOperation): void {
    const at = this.liveRun.time();
    this.#countStep(operation);
    const result: Settlement<Json> =
      this.#halted === null ? decidePost(this, operation.request, at) : { at, ok: false, failure: this.#halted };
    const record = postRecord(started.no, operation, result, this.#haltedBy);
    const frame = this.liveRun.write(this.cellId, at, record, this.#takeFrameExtras());
    this.liveRun.mail.deliver(frame);
    this.#setResult(started, result, frame.no);
  }

  /** Takes what belongs into this cell's next frame, so that it is written once. */
  #takeFrameExtras(): { readonly attempt: Attempt | undefined; readonly ids: readonly CellId[] | undefined } {
    const extras = { attempt: this.#attempt, ids: this.#ids };
    this.#attempt = undefined;
    this.#ids = undefined;
    return extras;
  }

  #countStep(operation: Operation): void {
    if (operation.do !== 'sleep' && typeof operation.about?.['step'] === 'number') this.account.countStep();
  }

  /** Writes the begin record; `waits` says that its hold has not been granted. */
  #writeBegin({ operation, no }: InFlightOperation<BeginOperation>, waits = false): Frame<Crossed> {
    const at = this.liveRun.time();
    if (operation.do === 'child') this.account.countSpawn();
    this.#countStep(operation);
    const begin = beginRecord(operation, no, at, this);
    const frame = this.liveRun.write(this.cellId, at, waits ? { ...begin, waits } : begin, {
      ...this.#takeFrameExtras(),
      childAgent: operation.do === 'child' ? operation.agent : undefined,
    });
    if (operation.do === 'child') this.receivedCrossings.addFromFrame(frame);
    return frame;
  }

  #start(started: InFlightOperation<BeginOperation>): void {
    const { operation } = started;
    if (operation.do === 'step' && this.#halted === null)
      return new StepRunner(this, this.liveRun.ports, started as InFlightOperation<StepOperation>).begin((waits) =>
        this.#writeBegin(started, waits),
      );
    const frame = this.#writeBegin(started, operation.do === 'step' && operation.hold !== undefined);
    if (this.#halted !== null && operation.do !== 'child') return this.fail(started, this.#halted);
    switch (operation.do) {
      case 'child':
        return this.startChild(started as InFlightOperation<ChildOperation>, frame.at, frame);
      case 'sleep':
        return startSleep(this, started as InFlightOperation<SleepOperation>, operation.ms);
      case 'receive':
        return startReceive(this, started as InFlightOperation<ReceiveOperation>, operation.timeoutMs);
      default:
        operation satisfies StepOperation;
    }
  }

  startChild(started: InFlightOperation<ChildOperation>, createdAt: number, frame?: Frame<Crossed>): void {
    const { operation } = started;
    const { cell, agent, caps, share, grants, goal, spawned = null, task } = operation;
    const account = this.liveRun.accountFor(cell, this.account, caps);
    if (operation.floor !== undefined && this.liveRun.recorded?.cells.has(cell) !== true)
      account.floor = operation.floor;
    this.liveRun.replaying?.enter(cell, agent.name);
    const depth = this.depth + 1;
    const seed = { cell, agent, depth, parent: this.cellId, spawned, task, createdAt, goal, ...(frame && { frame }) };
    const child = new LocalContext(this.liveRun, seed, account);
    this.liveRun.addLiveCell(child);
    if (share !== undefined)
      this.liveRun.addShare(cell, { from: this.cellId, cell: child, grants, now: () => share.now() });
    // On replay, the log says when the child was stopped.
    const stop = (failure: Failure): void => child.halt(failure);
    // probe: child-stop
    if (this.liveRun.replaying === null) started.stop = stop;
    // probe: child-created-halted
    if (this.#halted !== null) child.halt(this.#halted, this.#haltedAtFrame, this.#haltedTime);
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

  /** Records the settlement and hands it to the waiter. */
  settle(started: InFlightOperation, result: Settlement<Json>, more?: SettleExtras): void {
    if (started.result !== undefined) return;
    const frame = this.liveRun.write(this.cellId, result.at, settleRecord(started.no, result, more, this.#haltedBy));
    if (more?.ended !== undefined) this.receivedCrossings.addFromFrame(frame);
    if (more?.ended !== undefined && this.liveRun.usesMail) this.liveRun.mail.deliver(frame);
    this.#setResult(started, result, frame.no);
  }

  #setResult(started: InFlightOperation, result: Settlement<Json>, order: number): void {
    started.result = result;
    started.order = order;
    started.stop = undefined;
    this.#inFlight.remove(started, (one) => this.#handOut(one));
  }

  #handOut(started: InFlightOperation): InFlightOperation {
    started.settled = started.result as Settlement<never>;
    this.now = Math.max(this.now, started.result!.at);
    this.nowFrame = Math.max(this.nowFrame, started.order);
    return started;
  }

  #replay(started: InFlightOperation, frame: Frame & { readonly record: BeginRecord | PostRecord }): void {
    const { record } = frame;
    if (this.liveRun.replaying !== null) return this.#replayWhole(started, frame);
    const prompts = { prompt: this.#attempt?.prompt, recorded: frame.attempt?.prompt };
    const difference = findDifference(started.operation, record, prompts);
    this.liveRun.ledger.discard();
    this.#attempt = undefined;
    if (difference !== null) {
      this.liveRun.markBroken(
        new CloisterError('replay_differs', `Operation ${started.no} of ${this.cellId}: ${difference}.`),
      );
      return this.fail(started, { code: 'replay_differs' });
    }
    const settled = this.#recorded!.settles.get(started.no);
    // probe: replay-settled
    if (settled === undefined && record.type === 'begin') resumeOperation(this, started, record);
    else if (settled !== undefined) this.#setResult(started, readSettlement(settled.record, settled.at), settled.no);
  }

  /** Children run again too. Their callers get the recorded end immediately, and the new end is compared with it. */
  #replayWhole(started: InFlightOperation, frame: Frame & { readonly record: BeginRecord | PostRecord }): void {
    const { operation, no } = started;
    const { record } = frame;
    const replayed = replayedRecord(operation, no, frame, this);
    this.liveRun.compare(frame, { record: replayed, ...this.#takeFrameExtras() });
    const isSame = operationKind(record) === operation.do && record.name === replayed.name;
    const settled = this.#recorded!.settles.get(no);
    if (isSame && settled !== undefined)
      this.#setResult(started, readSettlement(settled.record, settled.at), settled.no);
    if (isSame && operation.do === 'child') this.startChild(started as InFlightOperation<ChildOperation>, frame.at);
  }
}
