// One run in this process: its log, its ledger, and the accounts of its cells.
//
//   frame-holds-its-crossings. A frame is numbered, filled and appended in one synchronous stretch. It contains every crossing
//       and note made before it.
//   frames-in-order. Frames are appended in the order of their numbers.
import { omitUndefined, readRecordedBy, recordFormats } from '#base';
import type { CellId, CloisterError, Hash, RecordedBy } from '#base';
import type {
  Agent,
  Attempt,
  Crossed,
  AgentDefinition,
  Frame,
  FrameRecord,
  Outcome,
  IndeterminatePolicy,
  PassedOverModel,
  RecordOf,
  RecordType,
  Redact,
  RunPorts,
  SessionWorld,
  WaitingCall,
} from '#contracts';
import { Door } from '#core/crossings';
import { Account, Accounts, hasMailbox } from '#core/events';
import { Amendments, noAmendments } from './amendments.ts';
import { writingFollower } from './log-follower.ts';
import type { LogFollower } from './log-follower.ts';
import { admitRecorded } from './party.ts';
import { readReceived } from './received-crossings.ts';
import type { CrossingsOfCell } from './received-crossings.ts';
import type { StartedChild, LiveCell, RunChild } from './live-cell.ts';
import { LocalSessionWorld } from './local-cell-port.ts';
import { MailDelivery } from './mail-delivery.ts';
import { QuestionRoom } from './question-room.ts';
import { settledIn } from './recorded-run.ts';
import type { RecordedRun } from './recorded-run.ts';
import { RunTime } from './run-time.ts';

type FrameExtras = { readonly attempt?: Attempt; readonly ids?: readonly CellId[]; readonly childAgent?: Agent };

export class LocalRun {
  readonly ports: RunPorts;
  /** What its sessions get of the ports. */
  readonly world: SessionWorld;
  readonly #runChild: RunChild;
  /** Decides and records what crosses between its cells. */
  readonly door: Door;
  readonly recorded: RecordedRun | null;
  /** How its cells follow the log that it has. */
  readonly follower: LogFollower;
  /** What the forks in the log changed. */
  readonly amendments: Amendments;
  /** The format of the run's records. It stays what it was when the run was started, whichever build continues it. */
  readonly format: number;
  /** When the run began: the only time that prompts may contain. */
  readonly startedAt: number;
  #nextFrame = 0;
  readonly runTime: RunTime;
  readonly #accounts: Accounts;
  #broken: CloisterError | null = null;
  #shares: Map<CellId, CellShare> | null = null;
  #mail: MailDelivery | null = null;
  #questions: QuestionRoom | null = null;
  /** Whoever requested the run: the caller on a server, or whoever owns the workspace. */
  requestedBy = 'operator';
  /** The cells that wait for a person while nothing in them or below them works. */
  readonly #paused = new Set<CellId>();
  #recordedCrossings: ReadonlyMap<CellId, CrossingsOfCell> | null = null;
  /** Set before anything can happen in the run. */
  root!: LiveCell;
  /** All live cells except the root. */
  #liveCells: Map<CellId, LiveCell> | null = null;
  #definitions: NonNullable<Frame['definitions']> = noDefinitions;
  /** The `resume` record, until it is written. */
  #pendingResume: Frame<Crossed> | null = null;
  /** When the run was resumed each time, for how long it had been down, and the policy that holds since. */
  #resumes: RecordedResume[] | null = null;

  constructor(ports: RunPorts, runChild: RunChild, startedAt: number, past?: RecordedPast) {
    this.ports = ports;
    this.world = new LocalSessionWorld(ports);
    this.#runChild = runChild;
    this.recorded = past?.recorded ?? null;
    this.follower = past?.follower ?? writingFollower;
    this.amendments = past === undefined ? noAmendments : new Amendments(past.recorded.frames);
    this.door = new Door(this.amendments);
    this.format = readRecordedBy(past?.recorded.first.record)?.format ?? this.recordedBy.format;
    this.startedAt = startedAt;
    this.runTime = new RunTime(ports.clock, startedAt);
    this.#accounts = new Accounts(this.follower.onlyRepeats);
    if (past !== undefined) this.#load(past.recorded);
  }

  write(cell: CellId, at: number, record: FrameRecord, extras?: FrameExtras): Frame<Crossed> {
    if (isOwnWork[record.type]) this.ports.stalls?.end(cell);
    this.writePendingResume();
    const frame = this.#createFrame(cell, at, record, extras);
    // A run that deviates from its record must not change the record, and a replay writes nothing.
    if (this.#broken === null && !this.follower.onlyRepeats) this.#append(frame);
    return frame;
  }

  /** That of the resume which settled the operation: what was recorded holds, whatever the operator has decided since. */
  indeterminatePolicy(cell: CellId, op: number): IndeterminatePolicy {
    const frame = settledIn(this.recorded?.cells.get(cell), op) ?? this.nextFrame;
    return this.#resumes?.findLast(({ no }) => no < frame)?.indeterminate ?? 'continue';
  }

  /** Call before the first action that is not in the log. Until a run has followed its record that far, it does not count as resumed. */
  writePendingResume(): void {
    const frame = this.#pendingResume;
    if (frame === null || this.#broken !== null) return;
    this.#pendingResume = null;
    this.#append(frame);
  }

  #append(frame: Frame<Crossed>): void {
    // probe: frame-append
    this.ports.log.append(frame);
    const roomIn = this.#accounts.next(frame);
    this.ports.listener?.onFrame?.(frame);
    roomIn?.retryWaiting();
    this.#nextQuestion(frame);
    if (this.#questions !== null) this.#notePauses(frame.cell);
    this.#nextMail(frame);
    this.#mail?.deliver(frame);
  }

  #createFrame(cell: CellId, at: number, record: FrameRecord, extras?: FrameExtras): Frame<Crossed> {
    // probe: frame-seal-ledger
    const sealed = this.door.seal();
    const definitions = extras?.childAgent === undefined ? undefined : this.#newDefinition(extras.childAgent);
    return {
      run: this.ports.run,
      no: this.#nextFrame++,
      at,
      cell,
      record,
      links: sealed?.links,
      contents: sealed?.contents,
      attempt: extras?.attempt,
      stalls: this.ports.stalls?.take(),
      ids: extras?.ids,
      definitions,
    };
  }

  /** Removes the secrets of this agent's cells, and those that are removed for everyone. Null when there are none. */
  redactFor(agent: Agent | null): Redact | null {
    // probe: redact-for-cell
    return this.ports.redactFor?.(agent, agent === null ? [] : this.amendments.modelsFor(agent.name)) ?? null;
  }

  /** The share of its caller's window that a live cell was given, if any. */
  getShare(cell: CellId): CellShare | undefined {
    return this.#shares?.get(cell);
  }

  addShare(cell: CellId, share: CellShare): void {
    (this.#shares ??= new Map()).set(cell, share);
  }

  /** Created on first use: most runs have no mail. */
  get mail(): MailDelivery {
    return (this.#mail ??= new MailDelivery(this.door));
  }

  get waitingCalls(): readonly WaitingCall[] {
    return this.#questions?.clientCalls(this.ports.run) ?? [];
  }

  /** Its questions to people. Created with the first one. */
  get questions(): QuestionRoom {
    return (this.#questions ??= new QuestionRoom(this, (cell) => this.#digestOf(cell)));
  }

  #digestOf(cell: CellId): Hash {
    return this.recorded?.cells.get(cell)?.birth.digest ?? this.getLiveCell(cell)!.agent.digest;
  }

  /** Nothing is kept about questions before the first one. */
  #nextQuestion(frame: Frame): void {
    if (frame.record.type === 'open' || frame.record.type === 'fork')
      this.requestedBy = frame.record.caller ?? 'operator';
    if (frame.record.type === 'begin' && frame.record.do === 'ask') this.questions.fold.next(frame);
    else this.#questions?.fold.next(frame);
  }

  /** Tells whoever keeps resources for cells which of them wait for people, from the cell of a frame up. */
  #notePauses(cell: CellId): void {
    const paused = this.activityOf(cell)?.isPaused === true;
    if (paused !== this.#paused.has(cell)) {
      if (paused) this.#paused.add(cell);
      else this.#paused.delete(cell);
      this.ports.resources.onPause?.(cell, paused);
      if (cell === this.root.cellId) this.ports.listener?.onPause?.(paused);
    }
    const { parent } = this.getLiveCell(cell) ?? { parent: null };
    if (parent !== null) this.#notePauses(parent);
  }

  /** What had crossed into a cell before the run was resumed, by ledger entry number. */
  recordedCrossings(cell: CellId): CrossingsOfCell | undefined {
    return this.#recordedCrossings?.get(cell);
  }

  /** The models that a cell does without. What was recorded holds, whichever keys there are now. */
  passedOver(cell: CellId, agent: Agent): readonly PassedOverModel[] | undefined {
    const recorded = this.recorded?.cells.get(cell);
    return recorded === undefined ? this.ports.resources.passedOver?.(agent) : recorded.birth.passedOver;
  }

  getLiveCell(cell: CellId): LiveCell | undefined {
    return cell === this.root.cellId ? this.root : this.#liveCells?.get(cell);
  }

  /**
   * The earliest deadline of the cells above; 0: none. While a cell waits for a person its own deadline moves, and those above it do
   * not if others work. They end its steps all the same.
   */
  earliestDeadlineAbove({ parent }: Pick<LiveCell, 'parent'>): number {
    const caller = parent === null ? undefined : this.getLiveCell(parent);
    if (caller === undefined) return 0;
    const above = this.earliestDeadlineAbove(caller);
    const { latestDeadline } = caller;
    return above === 0 || latestDeadline === 0 ? above + latestDeadline : Math.min(above, latestDeadline);
  }

  get liveCells(): readonly LiveCell[] {
    return [this.root, ...(this.#liveCells?.values() ?? [])];
  }

  addLiveCell(child: LiveCell): void {
    (this.#liveCells ??= new Map()).set(child.cellId, child);
  }

  get usesMail(): boolean {
    return this.#mail !== null;
  }

  forgetCell(cell: CellId): void {
    this.#shares?.delete(cell);
    this.#liveCells?.delete(cell);
    this.#mail?.forget(cell);
    this.door.forget(cell);
  }

  runChild(operation: StartedChild, runtime: LiveCell): Promise<Outcome> {
    return this.#runChild(operation, runtime, this.ports);
  }

  /** The build that records now, and the format that it gives to new runs. */
  get recordedBy(): RecordedBy {
    return this.ports.recordedBy ?? unnamedBuild;
  }

  /** Epoch milliseconds that never go back within the run. */
  readonly time = (): number => this.runTime.now();

  /** The number of the next frame. */
  get nextFrame(): number {
    return this.#nextFrame;
  }

  /** The account of a cell, as its frames left it. A cell that a replay starts although no frame created it has a new one. */
  accountFor(cell: CellId, parent: Account | null, caps: Account['caps']): Account {
    return this.#accounts.of(cell) ?? new Account(parent, caps);
  }

  /** When the cell worked, and when it waited for people. */
  activityOf(cell: CellId): Account['activity'] | undefined {
    return this.#accounts.of(cell)?.activity;
  }

  /** Why the run cannot continue, if it cannot. */
  get broken(): CloisterError | null {
    return this.#broken;
  }

  /** The code deviates from the record: nothing more is written, and all cells stop. */
  markBroken(error: CloisterError): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.root.halt();
  }

  /** Whether an attempt's hold had been granted when the process died. If so, it already counts as uncertain. */
  wasInFlight(cell: CellId, op: number): boolean {
    return this.#accounts.of(cell)?.isLost(op) ?? false;
  }

  /** For how long the run was down before that time. */
  downMs(until: number): number {
    if (this.#resumes === null) return 0;
    return this.#resumes.reduce((sum, { at, ms }) => (at <= until ? sum + ms : sum), 0);
  }

  /** For how long the run was down between two frames. Frame numbers, unlike clocks, never go back. */
  downBetween(first: number, last: number): number {
    if (this.#resumes === null) return 0;
    return this.#resumes.reduce((sum, { no, ms }) => (first < no && no < last ? sum + ms : sum), 0);
  }

  #newDefinition({ digest, definition }: Agent): Frame['definitions'] {
    if (this.definitionOf(digest) !== undefined) return undefined;
    const added = { digest, definition: definition satisfies AgentDefinition };
    this.#definitions = [...this.#definitions, added];
    return [added];
  }

  definitionOf(digest: Hash): AgentDefinition | undefined {
    return this.#definitions.find((one) => one.digest === digest)?.definition;
  }

  /** Nothing is kept about mail before a cell is created that it can reach. */
  #nextMail(frame: Frame<Crossed>): void {
    const birth = frame.record.type === 'open' || frame.record.type === 'begin' ? frame.record.birth : undefined;
    if (birth !== undefined && hasMailbox(birth, this.definitionOf(birth.digest))) this.mail.fold.next(frame, this);
    else this.#mail?.fold.next(frame, this);
  }

  #load({ frames }: RecordedRun): void {
    const restored = frames.map((frame) => this.door.restore(frame));
    this.#recordedCrossings = readReceived(restored);
    const definitions: { digest: Hash; definition: AgentDefinition }[] = [];
    this.#definitions = definitions;
    for (const frame of restored) {
      this.runTime.recorded(frame.at);
      this.#nextFrame = frame.no + 1;
      if (frame.definitions !== undefined) definitions.push(...frame.definitions);
      this.#accounts.next(frame);
      // probe: mail-load
      if (!this.follower.onlyRepeats) this.#nextMail(frame);
      this.#nextQuestion(frame);
    }
    this.#accounts.loseAttempts();
    if (!this.follower.onlyRepeats) admitRecorded(frames, this.door);
    this.#resumes = frames.flatMap(({ no, record, at }) =>
      record.type === 'resume' ? [{ no, at, ms: record.downMs, indeterminate: record.indeterminate }] : [],
    );
    if (!this.follower.onlyRepeats) this.#resume(frames);
  }

  #resume(frames: readonly Frame[]): void {
    const last = frames.at(-1)!;
    const at = this.runTime.resume();
    // A build that reads an earlier format knows no policy.
    const policy = this.format < policiesSince ? 'continue' : (this.ports.indeterminate ?? 'continue');
    const indeterminate = policy === 'continue' ? undefined : policy;
    const downMs = this.ports.wasAtRest === true ? 0 : at - last.at;
    this.#resumes?.push({ no: this.#nextFrame, at, ms: downMs, indeterminate });
    this.#pendingResume = this.#createFrame(frames[0]!.cell, at, {
      type: 'resume',
      downMs,
      build: this.recordedBy.build,
      ...omitUndefined({ env: this.ports.ownVariables, indeterminate }),
    });
  }
}

type RecordedResume = {
  readonly no: number;
  readonly at: number;
  readonly ms: number;
  readonly indeterminate: RecordOf<'resume'>['indeterminate'];
};

/** The first format whose records hold a policy for calls that were in flight. */
const policiesSince = 9;

/** The other records are written for whoever called the runtime, not for the cell. */
const isOwnWork: Record<RecordType, boolean> = {
  open: false,
  begin: true,
  settle: true,
  held: false,
  again: false,
  resume: false,
  fork: false,
  give: false,
  post: true,
  mail: false,
  delivered: false,
  ruling: false,
  cancel: false,
  close: true,
};

/** A share of its caller's window that a cell was given. */
type CellShare = { readonly from: LiveCell; readonly cell: LiveCell };

/** The log that a run is resumed or replayed from. */
export type RecordedPast = { readonly recorded: RecordedRun; readonly follower?: LogFollower };

const noDefinitions: NonNullable<Frame['definitions']> = [];

const unnamedBuild: RecordedBy = { format: recordFormats.newest, build: 'unknown' };
