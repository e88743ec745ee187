// Messages from the agents of a run to whoever holds the run, until they are handed out.
//
//   delivered-after-taken. A message is recorded as delivered after a reader has taken it, never before: after a crash, it is
//       handed out again.
//   handed-out-is-logged. What is handed out is in the log.
//   awaited-answer-goes-there. An answer that somebody waits for goes there, and to nobody else unless the wait ends without
//       it. Later messages are handed out after it was confirmed, so that they are seen in the order of the log.
import { CloisterError } from '#base';
import { decodeMail } from '#contracts';
import type { AgentMessage, CrossingContent, Frame, Mail } from '#contracts';
import { readAnswer } from './frame-reader.ts';
import type { AnswerFold, FrameFold } from './frame-reader.ts';

export class OutsideMessages {
  /** Messages that nobody has confirmed, in the order of the log. */
  readonly #waiting = new Set<string>();
  /** Answers that somebody waits for. Resolves when the answer is confirmed, or when the wait ends without it. */
  readonly #claims = new Map<string, PromiseWithResolvers<void>>();
  frame({ record, contents = [] }: Frame): void {
    for (const crossed of contents) if (isToOutside(crossed)) this.#waiting.add(decodeMail(crossed.content).id);
    if (record.type !== 'delivered') return;
    for (const id of record.messages) {
      this.#waiting.delete(id);
      this.#release(id);
    }
  }

  #release(id: string): void {
    this.#claims.get(id)?.resolve();
    this.#claims.delete(id);
  }

  /** The run has ended: nothing more is confirmed. */
  end(): void {
    for (const id of this.#claims.keys()) {
      this.#waiting.delete(id);
      this.#release(id);
    }
  }

  /** Throws `mail_unknown` if no such message waits to be confirmed. */
  check(id: string): void {
    if (!this.has(id))
      throw new CloisterError('mail_unknown', `No message "${id.slice(0, 80)}" waits to be confirmed.`);
  }

  /** Whether nobody has confirmed it. */
  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** Whether it is still to be handed out, when its turn has come. */
  async isWaiting(id: string): Promise<boolean> {
    for (;;) {
      const claim = this.#claimUpTo(id);
      if (claim === undefined) return this.#waiting.has(id);
      await claim.promise;
    }
  }

  #claimUpTo(id: string): PromiseWithResolvers<void> | undefined {
    for (const one of this.#waiting) {
      const claim = this.#claims.get(one);
      if (claim !== undefined) return claim;
      if (one === id) return undefined;
    }
    return undefined;
  }

  /** The answer that the fold finds belongs to one reader, who calls `leave` if it leaves without the answer. */
  claim(fold: AnswerFold): ClaimingFold {
    const claimed: string[] = [];
    return {
      next: (frame) => {
        const found = fold.next(frame);
        for (const one of found)
          if ('id' in one && this.#waiting.has(one.id) && !this.#claims.has(one.id)) {
            this.#claims.set(one.id, Promise.withResolvers());
            claimed.push(one.id);
          }
        return found;
      },
      leave: () => {
        for (const id of claimed) this.#release(id);
      },
    };
  }
}

export const isToOutside = ({ kind, to }: CrossingContent): boolean =>
  to === 'outside' && (kind === 'message' || kind === 'broadcast');

type ClaimingFold = FrameFold<ReturnType<AnswerFold['next']>[number]> & { leave(): void };

/** What the agents of a run say to whoever holds it: answers, and what nobody asked for. */
export const followMessages = (): FrameFold<AgentMessage> => ({
  next: ({ record, contents = [], at }) =>
    contents.flatMap(({ kind, to, content }): readonly AgentMessage[] => {
      if (kind !== 'message' || to !== 'outside' || record.type !== 'post') return [];
      const mail = decodeMail(content);
      return [{ ...readAnswer(mail, record, at), unasked: mail.message_type === 'message' }];
    }),
});

/** Messages published on a topic that are delivered outside the run. */
export const followTopic = (topic: string): FrameFold<Mail> => ({
  next: ({ contents = [] }) =>
    contents.flatMap(({ kind, to, content }): readonly Mail[] => {
      if (kind !== 'broadcast' || to !== 'outside') return [];
      const mail = decodeMail(content);
      return mail.topic === topic ? [mail] : [];
    }),
});
