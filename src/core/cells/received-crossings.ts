// What has crossed into one cell: what the log contains, and what came since.
import type { CellId } from '#base';
import type { Crossed, Frame } from '#contracts';

type ReceivedCrossing = {
  readonly crossed: Crossed;
  /** The number of the frame that contains it. */
  readonly frame: number;
  /** It came as mail, so it is shown only when it is received. */
  readonly mailed: boolean;
};

/** The cell that receives. */
type Receiver = {
  readonly cellId: CellId;
  /** The number of the frame that created it. */
  readonly createdInFrame: number;
  /** The number of the frame in which its next operation begins (on replay: began). */
  readonly nextFrame: number;
  readonly run: {
    readonly door: { check(crossed: Crossed, cell: CellId): void };
    recordedCrossings(cell: CellId): CrossingsOfCell | undefined;
  };
};

/** What has crossed into one cell, by ledger entry number, and what of it is added context, in order. */
export class CrossingsOfCell {
  readonly #bySeq = new Map<number, ReceivedCrossing>();
  #added: ReceivedCrossing[] = noneAdded;

  /** `to`: the cell. */
  add(received: ReceivedCrossing, to: CellId): void {
    this.#bySeq.set(received.crossed.seq, received);
    if (!isAddedContext(received, to)) return;
    if (this.#added.length === 0) this.#added = [received];
    else this.#added.push(received);
  }

  get(seq: number): Crossed | undefined {
    return this.#bySeq.get(seq)?.crossed;
  }

  isMail(seq: number): boolean {
    return this.#bySeq.get(seq)?.mailed === true;
  }

  delete(seq: number): void {
    this.#bySeq.delete(seq);
  }

  get added(): readonly ReceivedCrossing[] {
    return this.#added;
  }
}

/** Not its goal, the results of its children, answers to its questions, and mail. */
const isAddedContext = ({ crossed: { kind, to }, mailed }: ReceivedCrossing, cell: CellId): boolean =>
  kind !== 'goal' && kind !== 'result' && kind !== 'answer' && !mailed && to === cell;

export class ReceivedCrossings {
  readonly #receiver: Receiver;
  readonly #goal: Crossed<'goal'> | null;
  #live: CrossingsOfCell | undefined;
  /** False after a request was refused before it began, until another operation begins: the log would show new context as part of it. */
  isOpen = true;

  constructor(receiver: Receiver, goal: Crossed<'goal'> | null) {
    if (goal !== null) receiver.run.door.check(goal, receiver.cellId);
    this.#receiver = receiver;
    this.#goal = goal;
  }

  /** Adds what crossed into this cell in a frame that was just written. */
  addFromFrame({ contents, no }: Frame<Crossed>): void {
    const { cellId } = this.#receiver;
    for (const crossed of contents ?? none)
      // The goal is already known, and most cells receive nothing else.
      if (crossed.cell === cellId && crossed.to === cellId && crossed.kind !== 'goal') this.#set(crossed, no, false);
  }

  /** Adds a message that was put into the cell's mailbox. */
  addMail(crossed: Crossed<'message' | 'broadcast'>, frame: number): void {
    this.#set(crossed, frame, true);
  }

  /** Releases mail that has been shown: the window and the log hold it from then on. */
  forgetMail(seq: number): void {
    for (const crossings of [this.#live, this.#recorded]) if (crossings?.isMail(seq) === true) crossings.delete(seq);
  }

  /** Releases a crossing that the cell has stored elsewhere. */
  forget(seq: number): void {
    this.#live?.delete(seq);
  }

  #set(crossed: Crossed, frame: number, mailed: boolean): void {
    this.#receiver.run.door.check(crossed, this.#receiver.cellId);
    (this.#live ??= new CrossingsOfCell()).add({ crossed, frame, mailed }, this.#receiver.cellId);
  }

  /** The content of the cell's `in` ledger entry with this number. */
  at(seq: number): Crossed | undefined {
    return seq === 0 && this.#goal !== null ? this.#goal : (this.#live?.get(seq) ?? this.#recorded?.get(seq));
  }

  /** Context added to the cell, in order, without its goal, its children's results and answers to its questions: at creation only, or up to its next operation. */
  addedContext(when: 'at creation' | 'by now'): readonly Crossed[] {
    const [recorded, live] = [this.#recorded?.added ?? noneAdded, this.#live?.added ?? noneAdded];
    if (recorded.length === 0 && live.length === 0) return none;
    const { createdInFrame, nextFrame } = this.#receiver;
    // probe: arrivals-before
    const before = when === 'at creation' ? createdInFrame + 1 : nextFrame;
    return [/* probe: arrivals-recorded */ ...recorded, ...live]
      .filter(({ frame }) => frame < before)
      .map(({ crossed }) => crossed)
      .sort((one, other) => one.seq - other.seq);
  }

  get #recorded(): CrossingsOfCell | undefined {
    return this.#receiver.run.recordedCrossings(this.#receiver.cellId);
  }
}

/** On resume: what the log contains for each cell, by ledger entry number. */
export const readReceived = (frames: readonly Frame<Crossed>[]): Map<CellId, CrossingsOfCell> => {
  const received = new Map<CellId, CrossingsOfCell>();
  for (const frame of frames)
    for (const crossed of frame.contents ?? none) {
      const own = received.get(crossed.cell) ?? new CrossingsOfCell();
      received.set(crossed.cell, own);
      own.add({ crossed, frame: frame.no, mailed: isMail(frame, crossed) }, crossed.cell);
    }
  return received;
};

/** Added context is shown immediately; mail is shown when it is received. */
const isMail = ({ record }: Frame<Crossed>, { kind, cell }: Crossed): boolean =>
  (kind === 'message' || kind === 'broadcast') &&
  record.type !== 'give' &&
  !(record.type === 'begin' && record.birth?.cell === cell);

const none: readonly never[] = [];

/** Shared, so never pushed to. */
const noneAdded: ReceivedCrossing[] = [];
