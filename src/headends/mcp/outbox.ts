// Messages that wait for a client to read them. They are pulled, never pushed.
//
//   outbox-counts-until-next. A message that was taken counts until the next one is taken, because it is still being sent
//       until then.
//   outbox-bounded. The bytes that count are bounded. A message larger than the bound waits until the outbox is empty.
import { bufferedBytesMax } from '#base';
import { progressWaitingMax } from './limits.ts';

type PendingMessage = { readonly text: string; readonly bytes: number; readonly taken: () => void };

export class Outbox {
  #waiting: PendingMessage[] = [];
  #bytes = 0;
  #bytesTaken = 0;
  #reader: ((text: string | null) => void) | undefined;
  /** Wakes the callers of `put` that wait for room. */
  #waitingForRoom: (() => void)[] = [];
  #ended = false;

  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when the text has been taken, or the outbox has ended. Keeps the order of calls only if each call is awaited. */
  async put(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    while (!this.#ended && this.#bytes > 0 && !this.hasRoomFor(bytes))
      await new Promise<void>((enter) => this.#waitingForRoom.push(enter));
    if (!this.#ended) await new Promise<void>((taken) => this.#enqueue({ text, bytes, taken }));
  }

  /** Adds a text that may be dropped. Returns false if it was dropped. */
  offer(text: string): boolean {
    const bytes = Buffer.byteLength(text);
    if (this.#ended || this.#waiting.length >= progressWaitingMax || !this.hasRoomFor(bytes)) return false;
    this.#enqueue({ text, bytes, taken: () => undefined });
    return true;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= bufferedBytesMax;
  }

  /** The next text; null if there will be no more. Only one reader at a time, which has finished sending the last one. */
  async take(): Promise<string | null> {
    this.#bytes -= this.#bytesTaken;
    this.#bytesTaken = 0;
    const next = this.#waiting.shift();
    const text = next === undefined ? null : this.#handOver(next);
    for (const enter of this.#waitingForRoom.splice(0)) enter();
    if (text !== null || this.#ended) return text;
    return new Promise((resolve) => (this.#reader = resolve));
  }

  /** Ends the outbox; texts that are waiting can still be taken. */
  finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reader?.(null);
    for (const { taken } of this.#waiting) taken();
    for (const enter of this.#waitingForRoom.splice(0)) enter();
  }

  /** Ends the outbox and drops the texts that are waiting. */
  end(): void {
    this.finish();
    this.#waiting = [];
  }

  #enqueue(one: PendingMessage): void {
    this.#bytes += one.bytes;
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) this.#waiting.push(one);
    else reader(this.#handOver(one));
  }

  #handOver({ text, bytes, taken }: PendingMessage): string {
    this.#bytesTaken = bytes;
    taken();
    return text;
  }
}
