// What a session gets of its cell: the contract, and nothing behind it. The run's side is private, so no code of a session reaches it.
import type { CellId, Failure } from '#base';
import type {
  Agent,
  Amounts,
  Attempt,
  CellPort,
  ChildOperation,
  ChildRequest,
  IndeterminatePolicy,
  LiveEvent,
  OwnOperation,
  PendingOperation,
  ReceivedContent,
  WindowView,
  SpawnedChild,
  Spent,
  SpawnIdentity,
  TeamPart,
  RunPorts,
  SessionWorld,
  WindowLimit,
} from '#contracts';
import type { LiveCell } from './live-cell.ts';
import { pausedMs } from './paused-ms.ts';

export class LocalCellPort implements CellPort {
  readonly #cell: LiveCell;

  // probe: port-run-side
  constructor(cell: LiveCell) {
    this.#cell = cell;
  }

  get cellId(): CellId {
    return this.#cell.cellId;
  }

  get agent(): Agent {
    return this.#cell.agent;
  }

  get depth(): number {
    return this.#cell.depth;
  }

  get parent(): CellId | null {
    return this.#cell.parent;
  }

  get spawned(): SpawnIdentity | null {
    return this.#cell.spawned;
  }

  get task(): TeamPart | null {
    return this.#cell.task;
  }

  get ancestry(): readonly string[] {
    return this.#cell.ancestry;
  }

  get groupTokens(): number | undefined {
    return this.#cell.groupTokens;
  }

  get runStartedAt(): number {
    return this.#cell.run.startedAt;
  }

  get format(): number {
    return this.#cell.run.format;
  }

  get capsUpwards(): readonly Amounts[] {
    return this.#cell.account.capsUpwards;
  }

  get tracksMemory(): boolean {
    return this.#cell.account.tracksMemory;
  }

  get now(): number {
    return this.#cell.now;
  }

  get ageMs(): number {
    const { now, nowFrame, createdAt, createdInFrame, run, account } = this.#cell;
    const downMs = run.downBetween(createdInFrame, nowFrame);
    return now - createdAt - downMs - /* probe: age-waits */ pausedMs(account.activity.pauses, this.#cell, run);
  }

  get deadline(): number {
    return this.#cell.deadline;
  }

  get deadlineNow(): number {
    return this.#cell.deadlineNow;
  }

  get spent(): Spent {
    return this.#cell.account.spent(this.ageMs);
  }

  get mailBytes(): number {
    const { run, cellId } = this.#cell;
    return run.usesMail ? (run.mail.directory.get(cellId)?.mailbox.bytes ?? 0) : 0;
  }

  begin<O extends OwnOperation>(operation: O): PendingOperation<O> {
    return this.#cell.begin(operation);
  }

  beginChild(request: ChildRequest): PendingOperation<ChildOperation> | Failure {
    return this.#cell.beginChild(request);
  }

  first<P extends PendingOperation>(pending: readonly P[]): Promise<P> {
    return this.#cell.first(pending);
  }

  cancel(pending: PendingOperation, reason?: Failure): void {
    this.#cell.cancel(pending, reason);
  }

  isForkedSince(no: number): boolean {
    return this.#cell.isForkedSince(no);
  }

  indeterminatePolicy(no: number): IndeterminatePolicy {
    return this.#cell.run.indeterminatePolicy(this.#cell.cellId, no);
  }

  askedMs(child: ChildOperation): number {
    const activity = this.#cell.run.activityOf(child.cell);
    return activity === undefined ? 0 : pausedMs(activity.pauses, this.#cell);
  }

  unsettled<P extends PendingOperation>(pending: readonly P[]): readonly P[] {
    return this.#cell.unsettled(pending);
  }

  get isStopped(): boolean {
    return this.#cell.isStopped;
  }

  attach(attempt: Attempt, shown: WindowView): void {
    this.#cell.attach(attempt, shown);
  }

  get received(): ReceivedContent {
    return this.#cell.receivedCrossings;
  }

  amendedGoal(requested: string): string {
    return this.#cell.amendedGoal(requested);
  }

  get spawnedChildren(): readonly SpawnedChild[] {
    return this.#cell.spawnedChildren;
  }

  get outsideSpawns(): number {
    return this.#cell.outsideSpawns;
  }

  refuseOutside(what: 'agents' | 'context'): void {
    if (what === 'agents') this.#cell.outsideSpawner = null;
    else this.#cell.receivedCrossings.isOpen = false;
  }

  emit(event: LiveEvent): void {
    this.#cell.emit(event);
  }

  get hasLiveListeners(): boolean {
    return this.#cell.hasLiveListeners;
  }
}

// What sessions get of their run's ports. The rest (the log, and the listener, which is the caller's handle on the run) is private.

export class LocalSessionWorld implements SessionWorld {
  readonly #ports: RunPorts;

  constructor(ports: RunPorts) {
    this.#ports = ports;
  }

  validate(...call: Parameters<RunPorts['validate']>): readonly string[] {
    return this.#ports.validate(...call);
  }

  windowLimitFor(agent: Agent): WindowLimit | undefined {
    return this.#ports.windowLimitFor?.(agent);
  }

  groupTokens(agent: Agent): number | undefined {
    return this.#ports.groupTokens?.(agent);
  }

  readBlob(ref: string): Promise<Uint8Array> {
    return this.#ports.readBlob(ref);
  }

  onClosing(done: Promise<void>): void {
    this.#ports.resources.onClosing?.(done);
  }
}
