// What crossed into one cell: from its log, and since.
import type { CellId } from '#base';
import type { Crossed, CrossingContent, Frame } from '#contracts';

export type Arrival = CrossingContent & {
  /** The number of the frame that it came in. */
  readonly frame: number;
  /** Came into its box: it is shown once it is received. */
  readonly mailed?: boolean;
};

type Birth = { readonly cell: CellId; readonly goal: Crossed<'goal'> | null };

type Known = {
  readonly bornIn: number;
  readonly recorded: ReadonlyMap<number, Arrival> | undefined;
  /** The number of the frame in which its next operation begins, or began. */
  nextFrame(): number;
};

export class ReceivedCrossings {
  readonly #cell: CellId;
  readonly #goal: Birth['goal'];
  readonly #known: Known;
  #since: Map<number, Arrival> | undefined;

  constructor({ cell, goal }: Birth, known: Known) {
    this.#cell = cell;
    this.#goal = goal;
    this.#known = known;
  }

  /** Takes what a frame that was just written brought to this cell. */
  take({ contents, no }: Frame): void {
    for (const content of contents ?? none)
      // The goal is known; most cells are given nothing else.
      if (content.cell === this.#cell && content.to === this.#cell && content.kind !== 'goal') this.#set(content, no);
  }

  /** Takes what came into its box. */
  takeMail(content: CrossingContent, frame: number): void {
    this.#set({ ...content, mailed: true }, frame);
  }

  /** Mail is shown once: what is in view is kept there, and in the log. */
  forgetMail(seq: number): void {
    if (this.#since?.get(seq)?.mailed === true) this.#since.delete(seq);
  }

  /** What it has taken note of elsewhere need not be held here. */
  forget(seq: number): void {
    this.#since?.delete(seq);
  }

  #set(content: CrossingContent & Pick<Arrival, 'mailed'>, frame: number): void {
    (this.#since ??= new Map()).set(content.seq, { ...content, frame });
  }

  /** What the `in` entry of this number in the cell's ledger brought. */
  at(seq: number): Pick<Arrival, 'kind' | 'content' | 'from'> | undefined {
    return seq === 0 && this.#goal !== null ? this.#goal : (this.#since?.get(seq) ?? this.#known.recorded?.get(seq));
  }

  /** What it was given besides its goal and what it asked others for, in order: at its birth only, or before its next operation. */
  given(when: 'at birth' | 'by now'): readonly Arrival[] {
    const { bornIn, recorded } = this.#known;
    if (this.#since === undefined && recorded === undefined) return none;
    // probe: arrivals-before
    const before = when === 'at birth' ? bornIn + 1 : this.#known.nextFrame();
    return [/* probe: arrivals-recorded */ ...(recorded?.values() ?? none), ...(this.#since?.values() ?? none)]
      .filter(
        ({ kind, frame, to, mailed }) =>
          kind !== 'goal' && kind !== 'result' && mailed !== true && frame < before && to === this.#cell,
      )
      .sort((one, other) => one.seq - other.seq);
  }
}

const none: readonly never[] = [];
