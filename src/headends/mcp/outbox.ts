// Messages that wait for a client to read them: pulled, never pushed.
import { notesWaitingMax } from './limits.ts';

export class Outbox {
  #waiting: { readonly text: string; readonly taken: () => void }[] = [];
  #reader: ((text: string | null) => void) | undefined;
  #ended = false;

  /** Resolves when it has been taken, or when nothing is taken any more. */
  async put(text: string): Promise<void> {
    if (this.#ended) return;
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader !== undefined) return reader(text);
    await new Promise<void>((taken) => this.#waiting.push({ text, taken }));
  }

  hasRoom(): boolean {
    return !this.#ended && this.#waiting.length < notesWaitingMax;
  }

  /** The next one; null when there will be none. One reader at a time. */
  async take(): Promise<string | null> {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.taken();
      return next.text;
    }
    if (this.#ended) return null;
    return new Promise((resolve) => (this.#reader = resolve));
  }

  /** What waits can still be taken. */
  finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reader?.(null);
    for (const { taken } of this.#waiting) taken();
  }

  /** What waits is dropped. */
  end(): void {
    this.finish();
    this.#waiting = [];
  }
}
