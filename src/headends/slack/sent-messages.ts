// What was sent of one turn: which message shows which part of the text.
//
//   sent-in-order. The parts of the messages follow each other, in the order of the messages in the thread.
//   sent-confirmed. `end` is as far as Slack has confirmed the text, or a replacement of a message will show it.
import type { TaskCard } from './thread-view.ts';
import { chooseEnd, nextStart, trimmedEnd } from './split-text.ts';

export type SentMessage = {
  readonly ts: string;
  /** The id of its first card begins with the marker of the run. */
  readonly id: string;
  /** The card that has this id. */
  readonly firstCard: string;
  /** Slack may still take text for it. */
  isOpen: boolean;
  /** It shows its part of the text and nothing else. If not, it is replaced or deleted at the end. */
  isExact: boolean;
  /** Found after a crash, and without a part of the text yet. */
  isRecovered: boolean;
  /** The blocks of the end are below it. */
  hasEnd: boolean;
  from: number;
  to: number;
  /** By id: the cards that it shows, as it shows them. */
  readonly cards: Map<string, TaskCard>;
};

export class SentMessages {
  readonly all: SentMessage[] = [];
  /** By id: the cards as they were shown last. */
  readonly cards = new Map<string, TaskCard>();
  end = 0;
  /** The text up to `end`. */
  #text = '';
  /** There was no more text. */
  #isTextEnd = false;

  get open(): SentMessage | undefined {
    return this.all.find(({ isOpen, isExact }) => isOpen && isExact);
  }

  /** It has to be replaced, and closed before. */
  get inexactOpen(): SentMessage | undefined {
    return this.all.find(({ isOpen, isExact }) => isOpen && !isExact);
  }

  add(message: SentMessage): void {
    this.all.push(message);
    this.all.sort((one, other) => (one.ts < other.ts ? -1 : 1));
  }

  remove(message: SentMessage): void {
    this.all.splice(this.all.indexOf(message), 1);
    this.#forgetCards(message);
  }

  /** Slack shows the text up to `to`, the last of it in this message. */
  confirm(message: SentMessage, text: string, part: { readonly from: number; readonly to: number } | undefined): void {
    if (part !== undefined) {
      message.from = part.from;
      message.to = part.to;
      this.#moveEnd(text, part.to);
    }
    for (const [id, card] of message.cards) this.cards.set(id, card);
  }

  /** The text of a message may be more than its part. */
  doubt(message: SentMessage): void {
    message.isExact = false;
    if (message.from === message.to) this.#forgetCards(message);
  }

  /** Gives up what is void: the text no longer begins with what was sent, or the last word of a closed message was not complete. */
  takeBack(text: string): void {
    const isWordContinued =
      this.#isTextEnd && this.open === undefined && /^\S/u.test(text.slice(this.end, this.end + 2));
    if (text.startsWith(this.#text) && !isWordContinued) return;
    let same = 0;
    while (same < this.end && text[same] === this.#text[same]) same++;
    this.giveUpFrom(text, Math.min(same, this.end - 1));
  }

  /** Text after this place is no longer shown by any message. */
  giveUpFrom(text: string, place: number): void {
    let end = 0;
    for (const message of this.all) {
      if (message.from === message.to) continue;
      if (message.to > place) {
        const wordEnd = trimmedEnd(text, Math.max(text.lastIndexOf(' ', place), text.lastIndexOf('\n', place)) + 1);
        message.to = Math.max(message.from, Math.min(message.to, wordEnd));
        this.doubt(message);
      }
      end = Math.max(end, message.from === message.to ? 0 : message.to);
    }
    this.#moveEnd(text, end);
  }

  /** Lets messages that have to be replaced anyway show the text up to `end`. */
  assign(text: string, end: number, options: { readonly charsMax: number; readonly isRecovery: boolean }): void {
    const last = this.all.findLastIndex(({ from, to }) => to > from);
    for (const message of this.all.slice(Math.max(0, last))) {
      if (message.isExact || (options.isRecovery && !message.isRecovered)) continue;
      const isEmpty = message.to === message.from;
      const from = isEmpty ? nextStart(text, this.end) : message.from;
      const shown = isEmpty ? from : message.to;
      if (shown >= end) break;
      message.from = from;
      message.to = chooseEnd(text, { from, shown, to: end }, options.charsMax);
      this.#moveEnd(text, message.to);
    }
    for (const message of this.all) message.isRecovered = false;
  }

  #moveEnd(text: string, end: number): void {
    this.end = end;
    this.#text = text.slice(0, end);
    this.#isTextEnd = text.slice(end).trim() === '';
  }

  #forgetCards(message: SentMessage): void {
    for (const [id, card] of message.cards) if (this.cards.get(id) === card) this.cards.delete(id);
    message.cards.clear();
  }
}
