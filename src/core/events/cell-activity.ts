// When a cell waited for a person, and nothing in it or below it worked: time that counts for nobody.
//
//   pause-when-nothing-works. A cell pauses while it or a cell below it has an open question, and no operation of any of them
//       works. So nobody's time stands still because somebody else is asked.
import type { Frame } from '#contracts';

/** A position in the log, and its time. */
type Moment = Pick<Frame, 'no' | 'at'>;

/** `to`: null while it lasts. */
type Pause = { readonly from: Moment; to: Moment | null };

export class CellActivity {
  readonly #parent: CellActivity | null;
  /** Its own operations that work, and the children in or below which anything does. */
  #working = 0;
  /** Its own questions, and the children in or below which there are some. */
  #asking = 0;
  #workingOperations: readonly number[] = none;
  #questions: readonly number[] = none;
  /** In the order of the log. */
  pauses: Pause[] = noPauses;

  constructor(parent: CellActivity | null) {
    this.#parent = parent;
  }

  begin(op: number, kind: 'work' | 'ask', at: Moment): void {
    if (kind === 'work') {
      this.#workingOperations = [...this.#workingOperations, op];
      this.#count(1, 0, at);
    } else {
      this.#questions = [...this.#questions, op];
      this.#count(0, 1, at);
    }
  }

  end(op: number, at: Moment): void {
    if (this.#workingOperations.includes(op)) {
      this.#workingOperations = without(this.#workingOperations, op);
      this.#count(-1, 0, at);
    } else if (this.#questions.includes(op)) {
      this.#questions = without(this.#questions, op);
      this.#count(0, -1, at);
    }
  }

  get isPaused(): boolean {
    return /* probe: cell-paused */ this.#working === 0 && this.#asking > 0;
  }

  /** Also above, if this cell begins or ceases to work or to wait. */
  #count(working: number, asking: number, { no, at }: Moment): void {
    const wasWorking = Number(this.#working > 0);
    const wasAsking = Number(this.#asking > 0);
    this.#working += working;
    this.#asking += asking;
    const last = this.pauses.at(-1);
    if (last?.to === null) {
      if (!this.isPaused) last.to = { no, at };
    } else if (this.isPaused) this.pauses = [...this.pauses, { from: { no, at }, to: null }];
    const moreWorking = Number(this.#working > 0) - wasWorking;
    const moreAsking = Number(this.#asking > 0) - wasAsking;
    if (this.#parent !== null && (moreWorking !== 0 || moreAsking !== 0))
      this.#parent.#count(moreWorking, moreAsking, { no, at });
  }
}

const none: readonly number[] = [];
const noPauses: Pause[] = [];

const without = (operations: readonly number[], op: number): readonly number[] =>
  operations.length === 1 ? none : operations.filter((one) => one !== op);
