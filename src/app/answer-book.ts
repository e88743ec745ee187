// The answers to messages that came from outside while a run is live here, found in one reading of its frames.
//
//   answers-one-reading. Whoever waits for the answer to a new message reads no frame that is already recorded, however long the log is.
//
// Kept are the messages that wait for an answer, and the answers that came last; for others the log is read again.
import type { Frame, MailReport } from '#contracts';
import { followMessageStates } from '#core/events';
import { followAnswer } from './frame-reader.ts';
import type { AnswerFold, FrameFold } from './frame-reader.ts';

type Found = ReturnType<AnswerFold['next']>[number];

/** The frame with which it became known what a message is answered, or that it is not. */
type FoundAnswer = { readonly frame: Frame; readonly found: readonly Found[] };

export class AnswerBook implements FrameFold<never> {
  readonly #mail = followMessageStates();
  readonly #waiting = new Map<string, AnswerFold>();
  /** In the order in which they came. */
  readonly #found = new Map<string, FoundAnswer>();
  /** What has changed with the newest frame. */
  #changes: readonly MailReport[] = [];

  next(frame: Frame): readonly never[] {
    this.#changes = this.#mail.next(frame);
    for (const { id, from } of this.#changes)
      if (from === 'outside' && !this.#waiting.has(id) && !this.#found.has(id))
        this.#waiting.set(
          id,
          followAnswer(id, () => this.#changes),
        );
    for (const [id, fold] of this.#waiting) {
      const found = fold.next(frame);
      if (found.length === 0) continue;
      this.#waiting.delete(id);
      this.#found.set(id, { frame, found });
    }
    while (this.#found.size > foundMax) this.#found.delete(this.#found.keys().next().value!);
    return [];
  }

  /** Whether what becomes of the message will be found here. */
  knows(message: string): boolean {
    return this.#waiting.has(message) || this.#found.has(message);
  }

  /** Finds it with the frames that come to this book first; and with `past`, if it was found before. */
  follow(message: string): { readonly fold: AnswerFold; readonly past: readonly Frame[] } {
    const next = ({ no }: Frame): readonly Found[] => {
      const answer = this.#found.get(message);
      return answer?.frame.no === no ? answer.found : [];
    };
    const known = this.#found.get(message);
    return { fold: { next, isMessageKnown: true }, past: known === undefined ? [] : [known.frame] };
  }
}

/** Answers that nobody has asked for yet, or asks for again. */
const foundMax = 1_000;
