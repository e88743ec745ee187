// The only way content passes between the cells of a run, and into and out of it.
//
//   door-only-way-in. Content enters a cell only as a `Crossed` of this door. The ledger creates it with the entry that
//       records the decision, or from that entry on resume.
//   door-decides-in-frame. Every decision, refusals included, is in the frame of its effect: deciding is synchronous, and
//       nothing awaits before the frame.
//   door-freezes-a-copy. So nobody can change a crossing after the ledger has recorded it.
//   door-asks-policy. Policy decides, from the two ends. A caller says what it wants to pass, never under which grant. A
//       decision that throws is a refusal.
import type { CellId } from '#base';
import type { Crossed, Crossing, CrossingEnd, CrossingKind, CrossingRefusal, Frame, GrantName } from '#contracts';
import type { RefusalReason } from '#contracts';
import { Ledger } from './ledger.ts';
import type { SealedEntries, UnsealedEntries } from './ledger.ts';
import { policy } from './policy.ts';
import type { Grant, Party } from './policy.ts';

/** `frame`: the number of the one that records the decision. */
export type CrossingMoment = { readonly at: number; readonly frame: number };

export type CrossingRequest<K extends CrossingKind = CrossingKind> = Omit<Crossing<K>, 'labels'> & {
  readonly labels?: Crossing['labels'];
  /** For a broadcast. */
  readonly topic?: string | undefined;
  /** For a note: it says that a message was not read. */
  readonly unread?: true | undefined;
};

/** What operators have taken away from an agent's cells, in force at a frame. */
export type Withdrawals = { withdrawnFrom(agent: string, frame: number): readonly GrantName[] };

/** One for each run. */
export class Door {
  readonly #ledger = new Ledger();
  readonly #withdrawals: Withdrawals;
  /** The cells that can be an end: a list while there are few, a map once there are many. */
  #parties: readonly Party[] | Map<CellId, Party> = nobody;

  constructor(withdrawals: Withdrawals) {
    this.#withdrawals = withdrawals;
  }

  /** From now on the cell can be an end. What is known of a cell does not change, so admitting it again has no effect. */
  admit(party: Party): void {
    if (this.#party(party.cell) !== undefined) return;
    const parties = this.#parties;
    if (parties instanceof Map) parties.set(party.cell, party);
    else if (parties.length < smallListMax) this.#parties = [...parties, party];
    else this.#parties = new Map([...parties, party].map((one) => [one.cell, one]));
  }

  /** For a cell that has ended. */
  forget(cell: CellId): void {
    if (this.#parties instanceof Map) this.#parties.delete(cell);
    else this.#parties = this.#parties.filter((party) => party.cell !== cell);
    this.#ledger.forget(cell);
  }

  cross<K extends CrossingKind>(
    request: CrossingRequest<K>,
    { at, frame }: CrossingMoment,
  ): Crossed<K> | CrossingRefusal {
    const { kind, from, to, content, labels = none } = request;
    const decision = this.#decide(request, frame);
    const crossed = this.#ledger.recordDecision({ kind, from, to, content, labels }, decision, at);
    return crossed ?? { refused: decision as RefusalReason };
  }

  /** Whether it would pass. For those who must not ask, because the refusal itself would tell something. */
  permits(request: Omit<CrossingRequest, 'content'>, frame: number): boolean {
    return typeof this.#decide(request, frame) !== 'string';
  }

  /** Throws unless this content crossed here, into this cell. */
  check(crossed: Crossed, cell: CellId): void {
    this.#ledger.check(crossed, cell);
  }

  /** The links and contents for the frame that is being written. */
  seal(): SealedEntries | undefined {
    return this.#ledger.seal();
  }

  /** What the next frame will carry. */
  get pending(): UnsealedEntries {
    return this.#ledger.pending;
  }

  /** On replay: drops repeated decisions, because the log already has them. */
  discard(): void {
    this.#ledger.discard();
  }

  /** On resume: continues the ledger with a recorded frame. Returns the frame with its contents as crossings. */
  restore(frame: Frame): Frame<Crossed> {
    return this.#ledger.restore(frame);
  }

  #decide(request: Omit<CrossingRequest, 'content'>, frame: number): Grant | RefusalReason {
    const { kind, from, to, labels, topic, unread } = request;
    try {
      // probe: door-ends
      const ends = { from: this.#end(from), to: this.#end(to) };
      if (ends.from === undefined || ends.to === undefined) return 'no-grant';
      const withdrawn = (agent: string): readonly GrantName[] => this.#withdrawals.withdrawnFrom(agent, frame);
      const grant = policy(kind, ends as { [End in keyof typeof ends]: Party | 'outside' }, {
        withdrawn,
        topic,
        unread,
      });
      if (grant === null) return 'no-grant';
      return grant.refuses?.some((label) => labels?.includes(label) === true) === true ? 'label' : grant;
    } catch {
      return 'filter-failed';
    }
  }

  #end(end: CrossingEnd): Party | 'outside' | undefined {
    return end === 'outside' ? 'outside' : this.#party(end);
  }

  #party(cell: CellId): Party | undefined {
    const parties = this.#parties;
    return parties instanceof Map ? parties.get(cell) : parties.find((one) => one.cell === cell);
  }
}

const smallListMax = 16;
const nobody: readonly Party[] = [];
const none: readonly never[] = [];
