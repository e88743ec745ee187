// A cell on its run's side: its operations on a log in memory or SQLite, live, resumed or replayed.
//
//   operations-in-recorded-order. Operations are numbered in call order, and settlements are handed out in recorded order, so
//       a replay takes the same path.
//   effect-after-durable-begin. A step with a hold or with side effects starts only after its begin frame is durable.
//       Otherwise a crash could leave an effect, or an idempotency key, that the log does not know.
//   operation-settles-once. Its hold is released once, too. Anything later is ignored.
//   slots-for-steps-only. Waiting for a child or for time takes no slot of a lane.
import type { CellId, Failure, Json } from '#base';
import type {
  Agent,
  AskOperation,
  Attempt,
  Crossed,
  Frame,
  LiveEvent,
  WindowView,
  SpawnedChild,
  SpawnIdentity,
  BeginOperation,
  ChildOperation,
  ChildRequest,
  Operation,
  OwnOperation,
  PendingOperation,
  PostOperation,
  TeamPart,
  ReceiveOperation,
  Settlement,
  SleepOperation,
  StepOperation,
} from '#contracts';
import type { Account } from '#core/events';
import { ReceivedCrossings } from './received-crossings.ts';
import { beginRecord, postRecord, readSettlement, settleRecord } from './operation-records.ts';
import { createChild } from './create-child.ts';
import type { StartedChild, CellSeed, LiveCell } from './live-cell.ts';
import { endChild } from './end-child.ts';
import { InFlight, isSettledBefore } from './in-flight.ts';
import type { BeginFrame, CellFrameExtras } from './log-follower.ts';
import type { LocalRun } from './local-run.ts';
import { partyOf } from './party.ts';
import { beganIn, settledIn } from './recorded-run.ts';
import type { RecordedCell } from './recorded-run.ts';
import { decidePost } from './mail-room.ts';
import { startReceive, startSleep } from './start-wait.ts';
import { SpawnedChildren } from './spawned-children.ts';
import { StepRunner } from './step-runner.ts';
import type { SettleExtras, InFlightOperation } from './step-runner.ts';
import { LocalCellPort } from './local-cell-port.ts';
import { pausedMs } from './paused-ms.ts';

export class LocalContext implements LiveCell {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly depth: number;
  readonly account: Account;
  readonly run: LocalRun;
  readonly receivedCrossings: ReceivedCrossings;
  readonly createdAt: number;
  readonly port = new LocalCellPort(this);
  shown: WindowView | null = null;
  outsideSpawner: LiveCell['outsideSpawner'] = null;
  readonly parent: CellId | null;
  readonly spawned: SpawnIdentity | null;
  readonly task: TeamPart | null;
  readonly ancestry: readonly string[];
  readonly groupTokens: number | undefined;
  readonly #deadline: number;

  readonly #recorded: RecordedCell | undefined;
  #nextOperation = 0;
  #nextRecordedId = 0;
  readonly inFlight: InFlight;
  /** Created on first use: most cells spawn nothing. */
  #spawned: SpawnedChildren | null = null;
  #attempt: Attempt | undefined;
  #ids: CellId[] | undefined;
  readonly createdInFrame: number;

  constructor(run: LocalRun, seed: CellSeed, account: Account) {
    this.run = run;
    this.cellId = seed.cell;
    this.agent = seed.agent;
    this.depth = seed.depth;
    this.parent = seed.parent;
    this.spawned = seed.spawned ?? null;
    this.task = seed.task ?? null;
    this.ancestry = seed.ancestry;
    this.groupTokens = seed.groupTokens;
    this.#deadline = seed.deadline;
    this.createdAt = seed.createdAt;
    this.inFlight = new InFlight(seed.createdAt);
    this.account = account;
    this.#recorded = run.recorded?.cells.get(seed.cell);
    this.createdInFrame = this.#recorded?.createdInFrame ?? run.nextFrame - 1;
    run.door.admit(partyOf(seed));
    const receivedCrossings = (this.receivedCrossings = new ReceivedCrossings(this, seed.goal));
    if (seed.frame !== undefined) receivedCrossings.addFromFrame(seed.frame);
    if (!run.follower.onlyRepeats && (this.spawned !== null || this.agent.permissions.messages !== null))
      run.mail.register(this);
    const { halted } = this.#recorded ?? {};
    if (halted) this.inFlight.halted = halted;
  }

  begin<O extends OwnOperation>(operation: O): PendingOperation<O> {
    return this.#begin<O>(operation);
  }

  beginChild(request: ChildRequest): PendingOperation<ChildOperation> | Failure {
    const child = createChild(this, request);
    return 'code' in child ? child : this.#begin<ChildOperation>(child);
  }

  #begin<O extends Operation>(operation: O): PendingOperation<O> {
    const started = this.inFlight.add(this.#nextOperation++, operation);
    this.receivedCrossings.isOpen = true;
    const recorded = this.#recorded?.begins.get(started.no);
    const frame = recorded?.no ?? this.run.nextFrame;
    if (recorded !== undefined) this.#follow(started, recorded);
    else if (this.run.follower.mayBegin(this, started)) this.#start(started);
    if (operation.do === 'child' && operation.spawned !== undefined)
      (this.#spawned ??= new SpawnedChildren()).add(started as InFlightOperation<ChildOperation>, this.now, frame);
    return started as unknown as PendingOperation<O>;
  }

  beginOutside(operation: StartedChild): void {
    const spawned = (this.#spawned ??= new SpawnedChildren());
    const started = this.inFlight.add(spawned.nextOutsideNumber, operation);
    const child = started as InFlightOperation<StartedChild>;
    const recorded = this.#recorded?.begins.get(started.no);
    const written = recorded === undefined ? this.#writeBegin(child) : undefined;
    const { at, no } = recorded ?? written!;
    spawned.addOutside(child, at, no);
    if (recorded !== undefined) this.#follow(started, recorded);
    else this.startChild(child, at, written);
  }

  get spawnedChildren(): readonly SpawnedChild[] {
    return this.#spawned?.before(this.nextFrame) ?? [];
  }

  get outsideSpawns(): number {
    return this.#spawned?.outsideBefore(this.nextFrame) ?? 0;
  }

  first<P extends PendingOperation>(pending: readonly P[]): Promise<P> {
    this.run.ports.stalls?.end(this.cellId);
    const all = pending as unknown as readonly InFlightOperation[];
    const { follower } = this.run;
    const first = () => this.inFlight.first(all, () => follower.notifyWaiting()) as unknown as Promise<P>;
    const paused = follower.pause?.();
    return paused === undefined ? first() : paused.then(first);
  }

  cancel(pending: PendingOperation, reason: Failure = { code: 'cancelled' }): void {
    (pending as unknown as InFlightOperation).stop?.(reason);
  }

  get isStopped(): boolean {
    return (this.inFlight.halted?.frame ?? Infinity) <= this.nextFrame;
  }

  unsettled<P extends PendingOperation>(pending: readonly P[]): readonly P[] {
    return pending.filter((one) => !isSettledBefore(one as unknown as InFlightOperation, this.nextFrame));
  }

  newCellId(agent: string, reserve = 0): CellId | null {
    const recorded = this.#recorded?.ids[this.#nextRecordedId++];
    const id =
      recorded ??
      (this.account.canSpawn(reserve)
        ? (`${agent}-${/* probe: child-id */ this.run.ports.ids.random()}` as CellId)
        : ('' as CellId));
    if (recorded === undefined || this.run.follower.onlyRepeats) (this.#ids ??= []).push(id);
    return id === '' ? null : id;
  }

  get nextFrame(): number {
    return this.#recorded?.begins.get(this.#nextOperation)?.no ?? this.run.nextFrame;
  }

  /** Epoch milliseconds; 0 when there is none. As seen from its next operation. */
  get deadline(): number {
    return this.#deadlineAt(this.nextFrame);
  }

  /** The deadline as seen from `now`, which may be before a fork. */
  get deadlineNow(): number {
    return this.#deadlineAt(this.nowFrame);
  }

  /** `seen`: up to where it counts how long it waited for people. */
  #deadlineAt(frame: number, seen: { readonly now: number; readonly nowFrame: number } = this): number {
    if (this.#deadline === 0) return 0;
    const forkMs = this.run.amendments.pausedMs(this.createdAt, frame);
    const waitedMs = /* probe: deadline-waits */ pausedMs(this.account.activity.pauses, seen);
    return this.#deadline + this.inFlight.idleMs + forkMs + waitedMs;
  }

  isForkedSince(no: number): boolean {
    return this.run.amendments.isForkedBetween(settledIn(this.#recorded, no) ?? Infinity, this.nextFrame);
  }

  get deadlineAbove(): number {
    return this.account.activity.pauses.length === 0 ? 0 : this.run.earliestDeadlineAbove(this);
  }

  get latestDeadline(): number {
    return this.#deadlineAt(this.nextFrame, { now: this.run.time(), nowFrame: this.run.nextFrame });
  }

  amendedGoal(requested: string): string {
    return this.run.amendments.goalAt(this.cellId, this.#nextOperation, this.nextFrame) ?? requested;
  }

  /** The idempotency key of this step: the same on every re-run. */
  stepKey(no: number): string {
    const { amendments, ports } = this.run;
    return amendments.stepKey(`${this.cellId}/${no}`, beganIn(this.#recorded, no), ports.run);
  }

  attach(attempt: Attempt, shown: WindowView): void {
    this.#attempt = attempt;
    this.shown = shown;
  }

  emit(event: LiveEvent): void {
    this.run.ports.listener?.onLive?.(this.cellId, this.agent.name, event);
  }

  get hasLiveListeners(): boolean {
    return this.run.ports.listener?.hasLiveListeners ?? false;
  }

  get now(): number {
    return this.inFlight.now;
  }

  get nowFrame(): number {
    return this.inFlight.nowFrame;
  }

  get halted(): boolean {
    return this.inFlight.halted !== null;
  }

  /** Stops this cell and its descendants: operations settle as cancelled, and `first` rejects. */
  halt(failure: Failure = { code: 'cancelled' }, frame = this.run.nextFrame, at = this.run.time()): void {
    if (!this.halted) this.inFlight.halt({ failure, at, frame });
  }

  /** Resolves when every operation that began has settled. */
  async whenAllSettled(): Promise<void> {
    if (this.inFlight.isEmpty) return;
    this.run.follower.notifyWaiting();
    await this.inFlight.whenEmpty();
  }

  /** Decides and records the post in one synchronous stretch, then delivers it to the recipients' mailboxes. */
  #post(started: InFlightOperation, operation: PostOperation): void {
    const at = this.run.time();
    const { halted } = this.inFlight;
    const result: Settlement<Json> =
      halted === null ? decidePost(this, operation.request, at) : { at, ok: false, failure: halted.failure };
    const record = postRecord(started.no, operation, result, this.#haltedBy);
    const frame = this.run.write(this.cellId, at, record, this.#takeFrameExtras());
    this.inFlight.settle(started, result, frame.no);
  }

  /** Takes what belongs into this cell's next frame, so that it is written once. */
  #takeFrameExtras(): CellFrameExtras {
    const extras = { attempt: this.#attempt, ids: this.#ids };
    this.#attempt = undefined;
    this.#ids = undefined;
    return extras;
  }

  /** Writes the begin record; `waits` says that its hold has not been granted. */
  #writeBegin({ operation, no }: InFlightOperation<BeginOperation>, waits = false): Frame<Crossed> {
    const at = this.run.time();
    const begin = beginRecord(operation, no, at, this);
    const frame = this.run.write(this.cellId, at, waits ? { ...begin, waits } : begin, {
      ...this.#takeFrameExtras(),
      childAgent: operation.do === 'child' ? operation.agent : undefined,
    });
    if (operation.do === 'child') this.receivedCrossings.addFromFrame(frame);
    return frame;
  }

  #start(started: InFlightOperation): void {
    const { operation } = started;
    if (operation.do === 'post') return this.#post(started, operation);
    this.#startLasting(started as InFlightOperation<BeginOperation>);
  }

  #startLasting(started: InFlightOperation<BeginOperation>): void {
    const { operation } = started;
    if (operation.do === 'step' && !this.halted)
      return new StepRunner(this, this.run.ports, started as InFlightOperation<StepOperation>).begin((waits) =>
        this.#writeBegin(started, waits),
      );
    const frame = this.#writeBegin(started, operation.do === 'step' && operation.hold !== undefined);
    const { halted } = this.inFlight;
    if (halted !== null && operation.do !== 'child') return this.fail(started, halted.failure);
    switch (operation.do) {
      case 'child':
        return this.startChild(started as InFlightOperation<StartedChild>, frame.at, frame);
      case 'sleep':
        return startSleep(this, started as InFlightOperation<SleepOperation>, operation.ms);
      case 'ask':
        return this.run.questions.start(this, started as InFlightOperation<AskOperation>);
      case 'receive':
        return startReceive(this, started as InFlightOperation<ReceiveOperation>, operation.timeoutMs);
      default:
        operation satisfies StepOperation;
    }
  }

  startChild(started: InFlightOperation<StartedChild>, createdAt: number, frame?: Frame<Crossed>): void {
    const { operation } = started;
    const { cell } = operation;
    const account = this.run.accountFor(cell, this.account, operation.caps);
    const seed = { ...operation, depth: this.depth + 1, parent: this.cellId, createdAt, frame };
    const child = new LocalContext(this.run, seed, account);
    this.run.addLiveCell(child);
    if (operation.shares === true) this.run.addShare(cell, { from: this, cell: child });
    const stop = (failure: Failure): void => child.halt(failure);
    // probe: child-stop
    started.stop = stop;
    const { halted } = this.inFlight;
    // probe: child-created-halted
    if (halted !== null) child.halt(halted.failure, halted.frame, halted.at);
    const recorded = this.#recorded?.settles.get(started.no);
    void this.run.runChild(operation, child).then((outcome) => endChild(this, started, outcome, recorded));
  }

  get #haltedBy(): { readonly at: number; readonly failure: Failure } | undefined {
    const { halted } = this.inFlight;
    // probe: cell-halted-by
    return halted === null ? undefined : { at: halted.at, failure: halted.failure };
  }

  fail(started: InFlightOperation, failure: Failure, more?: SettleExtras): void {
    this.settle(started, { at: this.run.time(), ok: false, failure }, more);
  }

  /** Records the settlement and hands it to the waiter. */
  settle(started: InFlightOperation, result: Settlement<Json>, more?: SettleExtras): void {
    if (started.result !== undefined) return;
    const frame = this.run.write(this.cellId, result.at, settleRecord(started.no, result, more, this.#haltedBy));
    if (more?.ended !== undefined) this.receivedCrossings.addFromFrame(frame);
    this.inFlight.settle(started, result, frame.no);
  }

  /** An operation that the log contains. It gets its recorded end. */
  #follow(started: InFlightOperation, frame: BeginFrame): void {
    const { follower } = this.run;
    if (!follower.follow(this, started, frame, this.#takeFrameExtras())) return;
    // probe: replay-settled
    const settled = this.#recorded!.settles.get(started.no);
    if (settled !== undefined) this.inFlight.settle(started, readSettlement(settled.record, settled.at), settled.no);
    follower.continueOperation(this, started, frame);
  }
}
