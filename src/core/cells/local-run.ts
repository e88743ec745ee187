// One run in this process: the log it writes, the ledger, and the accounts of its cells.
//
//   F1. A frame is numbered, filled and appended in one synchronous stretch: what was crossed or noted before it rides in it.
//   F2. Frames are appended in the order in which they are numbered.
import type { CellId, CloisterError } from '#base';
import type { Agent, Attempt, ChildOperation, Definition, Frame, FrameRecord, Outcome } from '#contracts';
import { Ledger } from '#core/crossings';
import { Account } from './account.ts';
import { loadAccounts } from './load-accounts.ts';
import type { Home, RunChild, RunPorts } from './home.ts';
import type { RecordedRun } from './recorded.ts';

export type FrameExtras = { readonly attempt?: Attempt; readonly ids?: readonly CellId[]; readonly born?: Agent };

export class LocalRun {
  readonly ports: RunPorts;
  readonly #runChild: RunChild;
  readonly ledger = new Ledger();
  readonly recorded: RecordedRun | null;
  /** When the run began: the one time that prompts may name. */
  readonly startedAt: number;
  #nextFrame = 0;
  #accounts: Map<CellId, Account> | null = null;
  #underWay: ReadonlySet<string> | null = null;
  #broken: CloisterError | null = null;
  /** Called when the run cannot go on as it was recorded. */
  onBreak: (() => void) | null = null;
  #digests: readonly string[] = noDigests;
  /** When the run was resumed, and for how long it had been down. */
  #gaps: { readonly at: number; readonly ms: number }[] | null = null;

  constructor(ports: RunPorts, runChild: RunChild, recorded: RecordedRun | null, startedAt: number) {
    this.ports = ports;
    this.#runChild = runChild;
    this.recorded = recorded;
    this.startedAt = startedAt;
    if (recorded !== null) this.#load(recorded);
  }

  write(cell: CellId, at: number, record: FrameRecord, extras?: FrameExtras): Frame {
    const sealed = this.ledger.seal();
    const definitions = extras?.born === undefined ? undefined : this.#unknownDefinition(extras.born);
    const frame: Frame = {
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
    // A run that decides differently from its record leaves the record as it is.
    if (this.#broken !== null) return frame;
    this.ports.log.append(frame);
    this.ports.onFrame?.(frame);
    return frame;
  }

  runChild(operation: ChildOperation, home: Home): Promise<Outcome> {
    return this.#runChild(operation, home, this.ports);
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

  #unknownDefinition({ digest, definition }: Agent): Frame['definitions'] {
    if (this.#digests.includes(digest)) return undefined;
    this.#digests = [...this.#digests, digest];
    return [{ digest, definition: definition satisfies Definition }];
  }

  #load({ frames }: RecordedRun): void {
    const { accounts, underWay } = loadAccounts(frames);
    this.#accounts = accounts;
    this.#underWay = underWay;
    for (const { links, definitions, no } of frames) {
      for (const link of links ?? []) this.ledger.load(link);
      for (const { digest } of definitions ?? []) this.#digests = [...this.#digests, digest];
      this.#nextFrame = no + 1;
    }
    this.#gaps = frames.flatMap(({ record, at }) => (record.type === 'resume' ? [{ at, ms: record.downMs }] : []));
    this.#resume(frames);
  }

  #resume(frames: readonly Frame[]): void {
    const last = frames.at(-1)!;
    const at = Math.max(this.ports.clock.now(), last.at);
    this.#gaps?.push({ at, ms: at - last.at });
    this.write(frames[0]!.cell, at, { type: 'resume', downMs: at - last.at });
  }
}

const noDigests: readonly string[] = [];
