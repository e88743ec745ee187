// What has crossed into one cell: what the log contains, and what came since.
import type { CellId } from '#base';
import type { Crossed, CrossingContent, Frame } from '#contracts';

export type ReceivedCrossing = CrossingContent & {
  /** The number of the frame that contains it. */
  readonly frame: number;
  /** It came as mail, so it is shown only when it is received. */
  readonly mailed?: boolean;
};

type ReceiverSeed = { readonly cell: CellId; readonly goal: Crossed<'goal'> | null };

type RecordedPart = {
  readonly createdInFrame: number;
  readonly recorded: ReadonlyMap<number, ReceivedCrossing> | undefined;
  /** The number of the frame in which the cell's next operation begins (on replay: began). */
  nextFrame(): number;
};

export class ReceivedCrossings {
  readonly #cell: CellId;
  readonly #goal: ReceiverSeed['goal'];
  readonly #recordedPart: RecordedPart;
  #live: Map<number, ReceivedCrossing> | undefined;

  constructor({ cell, goal }: ReceiverSeed, recordedPart: RecordedPart) {
    this.#cell = cell;
    this.#goal = goal;
    this.#recordedPart = recordedPart;
  }

  /** Adds what crossed into this cell in a frame that was just written. */
  addFromFrame({ contents, no }: Frame): void {
    for (const content of contents ?? none)
      // The goal is already known, and most cells receive nothing else.
      if (content.cell === this.#cell && content.to === this.#cell && content.kind !== 'goal') this.#set(content, no);
  }

  /** Adds a message that was put into the cell's mailbox. */
  addMail(content: CrossingContent, frame: number): void {
    this.#set({ ...content, mailed: true }, frame);
  }

  /** Releases mail that has been shown: the window and the log hold it from then on. */
  forgetMail(seq: number): void {
    if (this.#live?.get(seq)?.mailed === true) this.#live.delete(seq);
  }

  /** Releases a crossing that the cell has stored elsewhere. */
  forget(seq: number): void {
    this.#live?.delete(seq);
  }

  #set(content: CrossingContent & Pick<ReceivedCrossing, 'mailed'>, frame: number): void {
    (this.#live ??= new Map()).set(content.seq, { ...content, frame });
  }

  /** The content of the cell's `in` ledger entry with this number. */
  at(seq: number): Pick<ReceivedCrossing, 'kind' | 'content' | 'from'> | undefined {
    return seq === 0 && this.#goal !== null
      ? this.#goal
      : (this.#live?.get(seq) ?? this.#recordedPart.recorded?.get(seq));
  }

  /** Context added to the cell, in order, without its goal and its children's results: at creation only, or up to its next operation. */
  addedContext(when: 'at creation' | 'by now'): readonly ReceivedCrossing[] {
    const { createdInFrame, recorded } = this.#recordedPart;
    if (this.#live === undefined && recorded === undefined) return none;
    // probe: arrivals-before
    const before = when === 'at creation' ? createdInFrame + 1 : this.#recordedPart.nextFrame();
    return [/* probe: arrivals-recorded */ ...(recorded?.values() ?? none), ...(this.#live?.values() ?? none)]
      .filter(
        ({ kind, frame, to, mailed }) =>
          kind !== 'goal' && kind !== 'result' && mailed !== true && frame < before && to === this.#cell,
      )
      .sort((one, other) => one.seq - other.seq);
  }
}

const none: readonly never[] = [];
