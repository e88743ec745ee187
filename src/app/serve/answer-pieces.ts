// An answer as it comes, for clients that cannot take text back.
//
//   W1. All texts together end with the whole answer, if there is one.
//   W2. They are the answer and nothing else when the agent said nothing else, or when only the answer is wanted.
import type { AnswerPiece, RunEvent, RunOutcome } from '#contracts';
import { describeActivity } from './describe-activity.ts';

export type PiecesOptions = {
  /** What the agent says on the way is left out: the answer is JSON, which cannot have a preface. */
  readonly answerOnly: boolean;
  readonly activity: boolean;
  /** The cell that answers; the first one that events tell of, unless it is named. */
  readonly root?: string;
};

export async function* answerPieces(
  events: AsyncIterable<RunEvent>,
  outcome: Promise<Pick<RunOutcome, 'output'>>,
  { answerOnly, activity, root: known }: PiecesOptions,
): AsyncGenerator<AnswerPiece> {
  const said = new Paragraphs();
  let root = known;
  for await (const event of events) {
    root ??= event.cell;
    const isRoot = event.cell === root;
    if (!answerOnly && isRoot && event.type === 'text-delta') yield* text(said.add(event.text));
    else if (isRoot && event.type === 'text-reset') said.next();
    else if (event.type === 'text-lag') said.lose();
    else if (activity) yield* activityOf(event);
  }
  yield* text(said.finish((await outcome).output));
}

const text = (words: string): readonly AnswerPiece[] => (words === '' ? [] : [{ type: 'text', text: words }]);

const activityOf = (event: RunEvent): readonly AnswerPiece[] => {
  const words = describeActivity(event);
  return words === null ? [] : [{ type: 'activity', text: `${words}\n` }];
};

/** What was sent so far. A paragraph is what the agent says in one attempt. */
class Paragraphs {
  /** Of the paragraph that is being said: what was sent, and white space that waits for more. */
  #sent = '';
  /** The one before it, if all of it was sent: an agent may come back to what it said. */
  #last = '';
  #space = '';
  #any = false;
  /** Pieces of it are missing: nothing more of it is sent. */
  #lost = false;

  add(words: string): string {
    if (this.#lost) return '';
    const whole = this.#space + words;
    const kept = whole.trimEnd();
    this.#space = whole.slice(kept.length);
    if (kept === '') return '';
    const sent = this.#sent === '' ? this.#between() + kept : kept;
    this.#sent += kept;
    this.#any = true;
    return sent;
  }

  next(): void {
    if (this.#sent !== '') this.#last = this.#lost ? '' : this.#sent;
    this.#sent = '';
    this.#space = '';
    this.#lost = false;
  }

  lose(): void {
    this.#lost = true;
  }

  /** What of the answer is still missing. */
  finish(answer: string): string {
    if (answer === '' || answer === (this.#sent === '' ? this.#last : this.#sent)) return '';
    if (this.#sent !== '' && answer.startsWith(this.#sent)) return answer.slice(this.#sent.length);
    return this.#between() + answer;
  }

  #between(): string {
    return this.#any ? '\n\n' : '';
  }
}
