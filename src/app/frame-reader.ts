// What is made of the frames of a run: first of those that were written before somebody came to read, then of each new one.
import type { Frame } from '#contracts';

export type Fold<T> = { next(frame: Frame): readonly T[] };

/** A reader that lags this far behind loses live pieces, never what is recorded. */
const bufferedMax = 10_000;

export class FrameReader<T> {
  readonly #fold: Fold<T>;
  #buffer: T[] = [];
  #early: Frame[] | null = [];
  #next = 0;
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(fold: Fold<T>) {
    this.#fold = fold;
  }

  frame(frame: Frame): void {
    if (this.#early !== null) this.#early.push(frame);
    else if (frame.no >= this.#next) {
      this.#next = frame.no + 1;
      const made = this.#fold.next(frame);
      if (made.length === 0) return;
      this.#buffer.push(...made);
      this.#wake?.();
    }
  }

  /** First what was written before this reader came, then what came meanwhile. */
  catchUp(past: readonly Frame[]): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const frame of past) this.frame(frame);
    for (const frame of early) this.frame(frame);
  }

  /** Live pieces are for now: not before what was recorded earlier, and not for who lags behind. */
  pushLive(piece: T): void {
    if (this.#early !== null || this.#buffer.length >= bufferedMax) return;
    this.#buffer.push(piece);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *items(): AsyncGenerator<T> {
    for (;;) {
      const items = this.#buffer;
      this.#buffer = [];
      yield* items;
      if (this.#buffer.length > 0) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
  }
}
