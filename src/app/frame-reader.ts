// What is made of the frames of a run: first of those that were written before somebody came to read, then of each new one.
//
//   F1. What is recorded reaches a reader once and in order, however slow it is.
//   F2. What waits for a slow reader is bounded: 256 KiB, and what came of one frame more. Past that, live pieces are left out and it is
//       told so; what is recorded is read from the log again when the reader comes back for it.
//   F3. A reader that goes away is let go at once, also while it waits for what comes next.
import { bufferedBytesMax } from '#base';
import type { Frame } from '#contracts';

export type Fold<T> = { next(frame: Frame): readonly T[] };

/** All frames of the run so far. */
export type ReadPast = () => Promise<readonly Frame[]>;

const waitingMax = 2_000;

export class FrameReader<T> {
  readonly #fold: Fold<T>;
  readonly #past: ReadPast | undefined;
  #waiting: { readonly item: T; readonly bytes: number }[] = [];
  #bytes = 0;
  #early: Frame[] | null = [];
  #next = 0;
  #newest = -1;
  #ended = false;
  #closed = false;
  /** Frames have come that were not kept for it. */
  #behind = false;
  #lagging = false;
  /** What was read of the log last, as long as there is memory for it: who is far behind needs it again and again. */
  #log: WeakRef<readonly Frame[]> | undefined;
  /** Says that live pieces were left out while it read what is recorded. */
  #leftOut: (() => T) | undefined;
  #wake: (() => void) | null = null;

  /** Without a way to read what was written, everything is kept. */
  constructor(fold: Fold<T>, past?: ReadPast) {
    this.#fold = fold;
    this.#past = past;
  }

  frame(frame: Frame): void {
    this.#newest = Math.max(this.#newest, frame.no);
    if (this.#early !== null) this.#early.push(frame);
    else if (frame.no >= this.#next && !this.#behind) {
      if (this.#past !== undefined && this.#isFull()) {
        this.#behind = true;
        return;
      }
      this.#next = frame.no + 1;
      const made = this.#fold.next(frame);
      if (made.length === 0) return;
      for (const one of made) this.#push(one, bytesOf(one));
      this.#wake?.();
    }
  }

  /** First what was written before this reader came, then what came meanwhile. */
  catchUp(past: readonly Frame[]): void {
    const early = this.#early ?? [];
    this.#early = null;
    if (past.length > 0) this.#log = new WeakRef(past);
    for (const frame of past) {
      if (this.#behind) break;
      this.frame(frame);
    }
    for (const frame of early) this.frame(frame);
    const lag = this.#leftOut;
    this.#leftOut = undefined;
    if (lag !== undefined) this.#lag(lag);
  }

  /** Live pieces are for now: not before what was recorded earlier, and not for who lags behind. `lag`: what says so. */
  pushLive(piece: T, chars: number, lag: () => T): void {
    if (this.#lagging) return;
    if (this.#early !== null) {
      this.#leftOut ??= lag;
      return;
    }
    const bytes = pieceBytes + 2 * chars;
    if (this.#behind || this.#isFull(bytes)) return this.#lag(lag);
    this.#push(piece, bytes);
    this.#wake?.();
  }

  #lag(lag: () => T): void {
    this.#lagging = true;
    this.#push(lag(), pieceBytes);
    this.#wake?.();
  }

  #push(item: T, bytes: number): void {
    this.#waiting.push({ item, bytes });
    this.#bytes += bytes;
  }

  #isFull(more = 0): boolean {
    return this.#waiting.length >= waitingMax || (this.#bytes > 0 && this.#bytes + more >= bufferedBytesMax);
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Nobody reads on. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
    this.#wake?.();
  }

  get closed(): boolean {
    return this.#closed;
  }

  async *items(): AsyncGenerator<T> {
    while (!this.#closed) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#bytes -= next.bytes;
        if (this.#bytes < bufferedBytesMax / 2) this.#lagging = false;
        yield next.item;
      } else if (this.#behind && this.#past !== undefined) await this.#catchUpAgain(this.#past);
      else if (this.#ended) return;
      else await this.#more();
    }
  }

  async #catchUpAgain(past: ReadPast): Promise<void> {
    this.#early = [];
    this.#behind = false;
    const known = this.#log?.deref();
    this.catchUp((known?.at(-1)?.no ?? -1) >= this.#next ? known! : await past());
    // What is known of the log may be older than what has come since.
    if (this.#next <= this.#newest) this.#behind = true;
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = null;
  }
}

/** About what it takes up in memory. Of texts, two bytes a character; names and ids are short, and there once for all. */
const bytesOf = (value: unknown): number => {
  if (typeof value === 'string') return fieldBytes + (value.length <= nameChars ? 0 : 2 * value.length);
  if (typeof value !== 'object' || value === null) return fieldBytes;
  let bytes = objectBytes;
  for (const field of Object.values(value)) bytes += bytesOf(field);
  return bytes;
};

const [fieldBytes, objectBytes, nameChars] = [8, 64, 64];

/** Of a live piece, besides its text. */
const pieceBytes = 128;

/**
 * The same items; but to leave does not wait for the next one, as it does behind a generator that waits. `left` lets go of what they
 * are read from.
 */
export const abortableIterator = <T>(items: AsyncGenerator<T>, left: () => void): AsyncIterableIterator<T> => {
  const leavableItems: AsyncIterableIterator<T> = {
    next: () => items.next(),
    return: () => {
      left();
      items.return(undefined).catch(() => undefined);
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]: () => leavableItems,
  };
  return leavableItems;
};
