// One run in this process: the log it writes, the ledger, and the accounts of its cells.
//
//   F1. A frame is numbered, filled and appended in one synchronous stretch: what was crossed or noted before it rides in it.
//   F2. Frames are appended in the order in which they are numbered.
import type { CellId, CloisterError } from '#base';
import type {
  Agent,
  Attempt,
  ChildOperation,
  AgentDefinition,
  Frame,
  FrameRecord,
  Grant,
  Operation,
  Outcome,
  SharedMessage,
} from '#contracts';
import { Ledger } from '#core/crossings';
import { Account } from './account.ts';
import { Amendments, noAmendments } from './amendments.ts';
import type { ReceivedCrossings } from './received-crossings.ts';
import type { SettleRecord } from './begin-record.ts';
import { loadAccounts } from './load-accounts.ts';
import { loadMailDelivery } from './load-mail-delivery.ts';
import { MailDelivery } from './mail-delivery.ts';
import type { CellRuntime, RunChild, RunPorts } from './cell-runtime.ts';
import type { RecordedRun } from './recorded-run.ts';
import type { ReplayedFrame, LogPosition, ReplayComparison } from './replay-comparison.ts';

export type FrameExtras = { readonly attempt?: Attempt; readonly ids?: readonly CellId[]; readonly born?: Agent };

export class LocalRun {
  readonly ports: RunPorts;
  readonly #runChild: RunChild;
  readonly ledger = new Ledger();
  readonly recorded: RecordedRun | null;
  /** Set when the whole run is made again from its log, and nothing is written. */
  readonly replaying: ReplayComparison | null;
  /** What forks in the log have changed. */
  readonly amendments: Amendments;
  /** When the run began: the one time that prompts may name. */
  readonly startedAt: number;
  #nextFrame = 0;
  #latest: number;
  #accounts: Map<CellId, Account> | null = null;
  #underWay: ReadonlySet<string> | null = null;
  #broken: CloisterError | null = null;
  #shares: Map<CellId, CellShare> | null = null;
  #post: MailDelivery | null = null;
  /** Those below the root. */
  #living: Map<CellId, LiveCell> | null = null;
  /** Called when the run cannot go on as it was recorded. */
  onBreak: (() => void) | null = null;
  #digests: readonly string[] = noDigests;
  /** The record that the run was resumed, until it is written. */
  #resumed: Frame | null = null;
  /** When the run was resumed, and for how long it had been down. */
  #gaps: { readonly no: number; readonly at: number; readonly ms: number }[] | null = null;

  constructor(ports: RunPorts, runChild: RunChild, startedAt: number, past?: RecordedPast) {
    this.ports = ports;
    this.#runChild = runChild;
    this.recorded = past?.recorded ?? null;
    this.replaying = past?.replaying ?? null;
    this.amendments = past === undefined ? noAmendments : new Amendments(past.recorded.frames);
    this.startedAt = startedAt;
    this.#latest = startedAt;
    if (past !== undefined) this.#load(past.recorded);
  }

  write(cell: CellId, at: number, record: FrameRecord, extras?: FrameExtras): Frame {
    this.goOn();
    const frame = this.#make(cell, at, record, extras);
    // A run that decides differently from its record leaves the record as it is; a replay writes nothing.
    if (this.#broken === null && this.replaying === null) this.#append(frame);
    return frame;
  }

  /** What happens next is not in the log. A run that does not come so far in the way of its record has not been resumed. */
  goOn(): void {
    const frame = this.#resumed;
    if (frame === null || this.#broken !== null) return;
    this.#resumed = null;
    this.#append(frame);
  }

  #append(frame: Frame): void {
    // probe: frame-append
    this.ports.log.append(frame);
    this.ports.onFrame?.(frame);
  }

  #make(cell: CellId, at: number, record: FrameRecord, extras?: FrameExtras): Frame {
    // probe: frame-seal-ledger
    const sealed = this.ledger.seal();
    const definitions = extras?.born === undefined ? undefined : this.#unknownDefinition(extras.born);
    return {
      run: this.ports.run,
      no: this.#nextFrame++,
      at,
      cell,
      record,
      links: sealed?.links,
      contents: sealed?.contents,
      attempt: extras?.attempt,
      ids: extras?.ids,
      definitions,
    };
  }

  /** On replay: what would be written here today, beside what was. */
  compare(frame: Frame, made: Omit<ReplayedFrame, 'crossed'>): void {
    this.replaying?.at(frame, { ...made, crossed: this.ledger.pending });
    this.ledger.discard();
  }

  /** On replay: what the log does not have. */
  beyond(place: LogPosition, operation: Operation): void {
    this.replaying?.addUnexpected(place, operation);
    this.ledger.discard();
  }

  /** The same for the end of a child. */
  compareEnd(frame: Frame, made: SettleRecord): void {
    const { value, ok, halted } = frame.record as SettleRecord;
    // Numbers in the ledger are given out in the order of the log; here another child may have come first.
    this.compare(frame, { record: { ...made, value: made.ok && ok ? value : made.value, halted } });
  }

  /** A living cell that was given a share of its caller's window. */
  shareOf(cell: CellId): CellShare | undefined {
    return this.#shares?.get(cell);
  }

  keepShare(cell: CellId, share: CellShare): void {
    (this.#shares ??= new Map()).set(cell, share);
  }

  /** Made when somebody needs it: most runs have no mail. */
  get post(): MailDelivery {
    return (this.#post ??= new MailDelivery());
  }

  living(cell: CellId): LiveCell | undefined {
    return this.#living?.get(cell);
  }

  bear(child: LiveCell): void {
    (this.#living ??= new Map()).set(child.cellId, child);
  }

  get hasMail(): boolean {
    return this.#post !== null;
  }

  forget(cell: CellId): void {
    this.#shares?.delete(cell);
    this.#living?.delete(cell);
    this.#post?.forget(cell);
    this.ledger.forget(cell);
  }

  runChild(operation: ChildOperation, runtime: CellRuntime): Promise<Outcome> {
    return this.#runChild(operation, runtime, this.ports);
  }

  /** Epoch milliseconds that never go back within a run, whatever is done to the clock: so durations and order agree. */
  time(): number {
    return (this.#latest = Math.max(this.#latest, this.ports.clock.now()));
  }

  /** The number that the next frame will have. */
  get nextFrame(): number {
    return this.#nextFrame;
  }

  /** The account of a cell: as the log left it on resume, else a new one. */
  accountOf(cell: CellId, parent: Account | null, caps: Account['caps']): Account {
    return this.#accounts?.get(cell) ?? new Account(parent, caps);
  }

  /** Why the run cannot go on, if it cannot. */
  get broken(): CloisterError | null {
    return this.#broken;
  }

  /** The code decides differently from the record: nothing more is written, and all cells stop. */
  break(error: CloisterError): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.onBreak?.();
  }

  /** Whether the hold of an attempt had been given when the process died: then it counts as uncertain already. */
  wasUnderWay(cell: CellId, op: number): boolean {
    return this.#underWay?.has(`${cell}/${op}`) ?? false;
  }

  /** How much of the time until then the run was down. */
  downMs(until: number): number {
    if (this.#gaps === null) return 0;
    return this.#gaps.reduce((sum, { at, ms }) => (at <= until ? sum + ms : sum), 0);
  }

  /** The same between two frames: clocks may have been set back meanwhile, the log has not. */
  downBetween(first: number, last: number): number {
    if (this.#gaps === null) return 0;
    return this.#gaps.reduce((sum, { no, ms }) => (first < no && no < last ? sum + ms : sum), 0);
  }

  #unknownDefinition({ digest, definition }: Agent): Frame['definitions'] {
    if (this.#digests.includes(digest)) return undefined;
    this.#digests = [...this.#digests, digest];
    return [{ digest, definition: definition satisfies AgentDefinition }];
  }

  #load({ frames }: RecordedRun): void {
    const { accounts, underWay } = loadAccounts(frames);
    this.#accounts = accounts;
    this.#underWay = underWay;
    if (this.replaying === null) this.#post = new MailDelivery(loadMailDelivery(frames));
    const digests: string[] = [];
    for (const { links, definitions, no, at } of frames) {
      this.#latest = Math.max(this.#latest, at);
      if (links !== undefined) for (const link of links) this.ledger.load(link);
      if (definitions !== undefined) for (const { digest } of definitions) digests.push(digest);
      this.#nextFrame = no + 1;
    }
    this.#digests = digests;
    this.#gaps = frames.flatMap(({ no, record, at }) =>
      record.type === 'resume' ? [{ no, at, ms: record.downMs }] : [],
    );
    if (this.replaying === null) this.#resume(frames);
  }

  #resume(frames: readonly Frame[]): void {
    const last = frames.at(-1)!;
    const at = this.time();
    this.#gaps?.push({ no: this.#nextFrame, at, ms: at - last.at });
    this.#resumed = this.#make(frames[0]!.cell, at, { type: 'resume', downMs: at - last.at });
  }
}

/** A cell at work, as its run knows it. */
export type LiveCell = Omit<CellRuntime, 'arrivals'> & { readonly arrivals: ReceivedCrossings };

/** Where a share came from, and what there is of it now. */
export type CellShare = {
  readonly from: CellId;
  readonly runtime: { readonly arrivals: ReceivedCrossings };
  readonly grants: readonly Grant[];
  now(): readonly SharedMessage[];
};

/** The log that a run goes on from, or is made again from. */
export type RecordedPast = { readonly recorded: RecordedRun; readonly replaying?: ReplayComparison };

const noDigests: readonly string[] = [];
