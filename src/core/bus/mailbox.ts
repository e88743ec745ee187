// The box of one cell: what was sent to it and is not delivered yet, in the order of the log.
//
//   M1. A letter is handed out once, to whoever waits longest for one like it; brought again, it changes nothing.
//   M2. It is bounded by number and bytes. The end of a child always fits: there is one for each.
import type { CrossingEnd, MailFilter } from '#contracts';

export const mailboxMessagesMax = 100;
export const mailboxBytesMax = 1_000_000;

/** What a box holds of a message: where its cell's ledger has it, and what a reader chooses by. */
export type QueuedMessage = {
  readonly seq: number;
  readonly kind: 'message' | 'broadcast' | 'result';
  readonly from: CrossingEnd;
  readonly topic: string | null;
  readonly bytes: number;
  readonly expiresAt?: number;
};

export type MailMatch = { readonly letters: readonly QueuedMessage[]; readonly closing: boolean };

type Waiting = { readonly wanted: MailFilter; readonly found: (found: MailMatch) => void };

export class Mailbox {
  #letters: readonly QueuedMessage[] = noLetters;
  #bytes = 0;
  #waiting: readonly Waiting[] = nobody;
  #closing = false;
  /** What has come, up to here: letters come in the order of their numbers. */
  #newest = -1;

  hasRoom(bytes: number): boolean {
    // probe: mailbox-has-room
    return this.#letters.length < mailboxMessagesMax && this.#bytes + bytes <= mailboxBytesMax;
  }

  get unread(): readonly QueuedMessage[] {
    return this.#letters;
  }

  /** Somebody waits for anything at all: its cell has nothing to do. */
  get idle(): boolean {
    return this.#waiting.some(({ wanted }) => wanted.box === 'any');
  }

  /** Its cell is asked to come to an end. */
  get closing(): boolean {
    return this.#closing;
  }

  get bytes(): number {
    return this.#bytes;
  }

  put(letter: QueuedMessage): void {
    // probe: mailbox-put-again
    if (letter.seq <= this.#newest) return;
    this.#newest = letter.seq;
    this.#letters = [...this.#letters, letter];
    this.#bytes += letter.bytes;
    this.#serve();
  }

  /** Calls back once, at once if there is something. The stop takes back the wish. */
  wait(wanted: MailFilter, found: (found: MailMatch) => void): () => void {
    const waiting = { wanted, found };
    this.#waiting = [...this.#waiting, waiting];
    // probe: mailbox-wait-serve
    this.#serve();
    return () => (this.#waiting = this.#waiting.filter((one) => one !== waiting));
  }

  /** What there is of it now, whether it is all that was asked for or not. */
  take(wanted: MailFilter): readonly QueuedMessage[] {
    const there = this.#letters.filter((letter) => isWanted(letter, wanted));
    const first =
      wanted.all === true
        ? there.filter(({ from }, no) => there.findIndex((one) => one.from === from) === no)
        : noLetters;
    const more = there.filter((letter) => !first.includes(letter)).slice(0, Math.max(0, wanted.max - first.length));
    // probe: mailbox-taken
    const taken = there.filter((letter) => first.includes(letter) || more.includes(letter));
    if (taken.length > 0) this.remove(taken.map(({ seq }) => seq));
    return taken;
  }

  /** Takes out what nobody may read any more. */
  expire(now: number): readonly number[] {
    const late = this.#letters.filter(({ expiresAt = Infinity }) => expiresAt <= now).map(({ seq }) => seq);
    if (late.length > 0) this.remove(late);
    return late;
  }

  remove(seqs: readonly number[]): void {
    this.#letters = this.#letters.filter(({ seq, bytes }) => {
      if (!seqs.includes(seq)) return true;
      this.#bytes -= bytes;
      return false;
    });
  }

  /** Whoever waits is told, now and later. */
  close(): void {
    this.#closing = true;
    // probe: mailbox-close-serve
    this.#serve();
  }

  #serve(): void {
    for (const waiting of this.#waiting) {
      if (!this.#closing && !this.#isReady(waiting.wanted)) continue;
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      waiting.found({ letters: this.#closing ? noLetters : this.take(waiting.wanted), closing: this.#closing });
    }
  }

  #isReady(wanted: MailFilter): boolean {
    const there = this.#letters.filter((letter) => isWanted(letter, wanted));
    if (wanted.all !== true) return there.length > 0;
    return (wanted.from ?? []).every((sender) => there.some(({ from }) => from === sender));
  }
}

const noLetters: readonly QueuedMessage[] = [];
const nobody: readonly Waiting[] = [];

const isWanted = ({ kind, from, topic }: QueuedMessage, { box, from: senders, topics }: MailFilter): boolean => {
  if (box !== 'any' && (kind === 'broadcast') !== (box === 'topics')) return false;
  if (senders !== undefined && !senders.some((sender) => sender === from)) return false;
  return topics === undefined || (topic !== null && topics.includes(topic));
};
