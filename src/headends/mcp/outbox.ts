// Messages that wait for a client to read them: pulled, never pushed.
//
//   O1. What was taken last counts until the next one is taken: so long it is on its way.
//   O2. All that counts is bounded. What is larger than that waits until it is alone.
import { bufferedBytesMax } from '#base';
import { notesWaitingMax } from './limits.ts';

type Waiting = { readonly text: string; readonly bytes: number; readonly taken: () => void };

export class Outbox {
  #waiting: Waiting[] = [];
  #bytes = 0;
  #bytesTaken = 0;
  #reader: ((text: string | null) => void) | undefined;
  /** Those for whom there is no room yet. */
  #outside: (() => void)[] = [];
  #ended = false;

  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when it has been taken, or when nothing is taken any more. In the order of calls only for who waits for each. */
  async put(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    while (!this.#ended && this.#bytes > 0 && !this.hasRoomFor(bytes))
      await new Promise<void>((enter) => this.#outside.push(enter));
    if (!this.#ended) await new Promise<void>((taken) => this.#enter({ text, bytes, taken }));
  }

  /** For what may be left out: false if it is. */
  offer(text: string): boolean {
    const bytes = Buffer.byteLength(text);
    if (this.#ended || this.#waiting.length >= notesWaitingMax || !this.hasRoomFor(bytes)) return false;
    this.#enter({ text, bytes, taken: () => undefined });
    return true;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= bufferedBytesMax;
  }

  /** The next one; null when there will be none. One reader at a time, who has dealt with the last one. */
  async take(): Promise<string | null> {
    this.#bytes -= this.#bytesTaken;
    this.#bytesTaken = 0;
    const next = this.#waiting.shift();
    const text = next === undefined ? null : this.#give(next);
    for (const enter of this.#outside.splice(0)) enter();
    if (text !== null || this.#ended) return text;
    return new Promise((resolve) => (this.#reader = resolve));
  }

  /** What waits can still be taken. */
  finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reader?.(null);
    for (const { taken } of this.#waiting) taken();
    for (const enter of this.#outside.splice(0)) enter();
  }

  /** What waits is dropped. */
  end(): void {
    this.finish();
    this.#waiting = [];
  }

  #enter(one: Waiting): void {
    this.#bytes += one.bytes;
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) this.#waiting.push(one);
    else reader(this.#give(one));
  }

  #give({ text, bytes, taken }: Waiting): string {
    this.#bytesTaken = bytes;
    taken();
    return text;
  }
}
