// A body of server-sent events that is made while it is read.
//
//   B1. Nothing is made ahead of its reader, and what is long goes out in parts.
//   B2. A reader that takes nothing for a while is dropped.
import type { Clock, Stop } from '#contracts';
import { keepAliveMs, partBytes, stallMs } from './limits.ts';

export type Events = {
  /** The next bytes; null at the end. */
  readonly next: () => Promise<Uint8Array | null>;
  /** It ended, or nobody reads it any more. May be told again. */
  readonly closed: () => void;
};

export const eventStream = (clock: Clock, events: Events): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(new PulledEvents(clock, events), { highWaterMark: 0 });

export const eventHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

const late = Symbol('late');

class PulledEvents {
  readonly #clock: Clock;
  readonly #events: Events;
  #rest: Uint8Array = new Uint8Array();
  /** Asked for while its reader was told something else meanwhile. */
  #pending: Promise<Uint8Array | null> | undefined;
  #stopStall: Stop | undefined;

  constructor(clock: Clock, events: Events) {
    this.#clock = clock;
    this.#events = events;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#stopStall?.();
    try {
      const bytes = this.#rest.length > 0 ? this.#rest : await this.#next();
      if (bytes === null) {
        this.#events.closed();
        return controller.close();
      }
      this.#rest = bytes.subarray(partBytes);
      controller.enqueue(bytes.slice(0, partBytes));
      this.#stopStall = this.#clock.timer(stallMs, () => this.#drop(controller));
    } catch (error) {
      this.#events.closed();
      throw error;
    }
  }

  cancel(): void {
    this.#stopStall?.();
    this.#events.closed();
  }

  /** What comes next; a comment when nothing does, so that what lies between does not cut a silent connection. */
  async #next(): Promise<Uint8Array | null> {
    const { promise, resolve } = Promise.withResolvers<typeof late>();
    const stop = this.#clock.timer(keepAliveMs, () => resolve(late));
    this.#pending ??= this.#events.next();
    try {
      const next = await Promise.race([this.#pending, promise]);
      if (next === late) return new TextEncoder().encode(': waiting\n\n');
      this.#pending = undefined;
      return next;
    } finally {
      stop();
    }
  }

  #drop(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#events.closed();
    controller.error(new Error('The reader takes nothing.'));
  }
}
