// What is made of the frames of a run: first of those that were written before somebody came to read, then of each new one.
//
//   F1. What is recorded reaches a reader once and in order, however slow it is.
//   F2. What waits for a slow reader is bounded: past that, live pieces are left out and it is told so; what is recorded is
//       read from the log again when the reader comes back for it.
//   F3. A reader that goes away is let go at once, also while it waits for what comes next.
import type { Frame } from '#contracts';

export type Fold<T> = { next(frame: Frame): readonly T[] };

/** All frames of the run so far. */
export type ReadPast = () => Promise<readonly Frame[]>;

const [recordedMax, liveMax, liveCharsMax] = [2_000, 10_000, 64 * 1024];

export class FrameReader<T> {
  readonly #fold: Fold<T>;
  readonly #past: ReadPast | undefined;
  #buffer: T[] = [];
  #early: Frame[] | null = [];
  #next = 0;
  #ended = false;
  #closed = false;
  /** Frames have come that were not kept for it. */
  #behind = false;
  #liveChars = 0;
  #lagging = false;
  /** Says that live pieces were left out while it read what is recorded. */
  #leftOut: (() => T) | undefined;
  #wake: (() => void) | null = null;

  /** Without a way to read what was written, everything is kept. */
  constructor(fold: Fold<T>, past?: ReadPast) {
    this.#fold = fold;
    this.#past = past;
  }

  frame(frame: Frame): void {
    if (this.#early !== null) this.#early.push(frame);
    else if (frame.no >= this.#next && !this.#behind) {
      if (this.#past !== undefined && this.#buffer.length >= recordedMax) {
        this.#behind = true;
        return;
      }
      this.#next = frame.no + 1;
      const made = this.#fold.next(frame);
      if (made.length === 0) return;
      for (const one of made) this.#buffer.push(one);
      this.#wake?.();
    }
  }

  /** First what was written before this reader came, then what came meanwhile. */
  catchUp(past: readonly Frame[]): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const frame of past) this.frame(frame);
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
    this.#liveChars += chars;
    if (this.#behind || this.#buffer.length >= liveMax || this.#liveChars > liveCharsMax) return this.#lag(lag);
    this.#buffer.push(piece);
    this.#wake?.();
  }

  #lag(lag: () => T): void {
    this.#lagging = true;
    this.#buffer.push(lag());
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Nobody reads on. */
  close(): void {
    this.#closed = true;
    this.#buffer = [];
    this.#wake?.();
  }

  get closed(): boolean {
    return this.#closed;
  }

  async *items(): AsyncGenerator<T> {
    while (!this.#closed) {
      const items = this.#buffer;
      this.#buffer = [];
      this.#liveChars = 0;
      this.#lagging = false;
      yield* items;
      if (this.#buffer.length > 0) continue;
      if (this.#behind && this.#past !== undefined) await this.#catchUpAgain(this.#past);
      else if (this.#ended) return;
      else await this.#more();
    }
  }

  async #catchUpAgain(past: ReadPast): Promise<void> {
    this.#early = [];
    this.#behind = false;
    this.catchUp(await past());
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = null;
  }
}

/**
 * The same items; but to leave does not wait for the next one, as it does behind a generator that waits. `left` lets go of what they
 * are read from.
 */
export const leavable = <T>(items: AsyncGenerator<T>, left: () => void): AsyncIterableIterator<T> => {
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
