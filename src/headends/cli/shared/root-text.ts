// What the root of a run writes, from its events, and what becomes of it: text that is not the answer gets a mark that says why.
import type { CellId } from '#base';
import type { RunEvent } from '#contracts';
import { sanitizeLine } from './sanitize-text.ts';

type RootTextReader = {
  add(piece: string): void;
  /** The text of the attempt, if it has any, is not the answer. */
  close(why: string): void;
};

export class RootText {
  readonly #reader: RootTextReader;
  #root: CellId | null = null;
  /** How many calls the attempt ended with; null while it writes. */
  #calls: number | null = null;
  /** The text of the attempt was sent as an answer, and the root works on other messages. */
  #wasSent = false;
  /** Pieces are missing, so nothing more of the attempt is shown. */
  #isLost = false;

  constructor(reader: RootTextReader) {
    this.#reader = reader;
  }

  note(event: RunEvent): void {
    if (event.type === 'session-start' && event.parent === null) this.#root = event.cell;
    if (event.type === 'text-lag') this.skip();
    if (event.cell !== this.#root) return;
    switch (event.type) {
      case 'text-delta':
        if (!this.#isLost) this.#reader.add(event.text);
        break;
      case 'text-reset':
        this.#takeBack();
        this.#isLost = false;
        break;
      case 'model-start':
        this.#takeBack();
        break;
      case 'model-end':
        this.#calls = event.ok ? event.calls : 0;
        break;
      case 'mail':
        if (event.kind === 'answer' && event.from === this.#root) this.#wasSent = true;
        break;
      case 'tool-start':
      case 'child-start':
        if (this.#calls !== null && this.#calls > 0)
          this.#close(`said before calling ${namedCalls(event.tool, this.#calls)}`);
        break;
      default:
        break;
    }
  }

  /** Ignores text until a new attempt begins. */
  skip(): void {
    this.#isLost = true;
  }

  /** How the run ended is known: without an answer, or with another text than the attempt's. */
  end(answer: string, isAnswer: boolean): void {
    if (!isAnswer) this.#reader.close(answer === '' ? 'not finished' : 'not part of the answer');
    [this.#calls, this.#isLost, this.#wasSent] = [null, false, false];
  }

  /** The attempt failed, its text was refused, or it has answered another message. */
  #takeBack(): void {
    const hasCalls = this.#calls !== null && this.#calls > 0;
    if (hasCalls) this.#close('said before calling tools');
    else this.#close(this.#wasSent ? 'answer to an earlier message' : 'taken back: the model was asked again');
  }

  #close(why: string): void {
    this.#reader.close(why);
    [this.#calls, this.#wasSent] = [null, false];
  }
}

const namedCalls = (first: string, calls: number): string =>
  `${sanitizeLine(first)}${calls === 1 ? '' : ` and ${calls - 1} more`}`;
