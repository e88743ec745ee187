// Time and order, from a seed: one queue of events, and between two of them every promise that can settle does.
//
//   S1. Time moves only to the next event. Events of one time come in seeded order.
//   S2. An event that was taken back never happens.
import type { Random } from './random.ts';

export type Cancel = () => void;

export type Moment = { readonly kind: string; readonly nth: number; readonly promises: number };

type Entry = {
  readonly at: number;
  readonly order: number;
  readonly nth: number;
  readonly kind: string;
  due: (() => void) | null;
};

const nextTick = process.nextTick.bind(process);
const immediate = setImmediate;

/** Called from a microtask, it comes back when no other microtask is left. */
const drained = (): Promise<void> => new Promise((resolve) => nextTick(resolve));
/** The same by way of the real loop: slower, and rejections that nobody looked at by then are reported. */
const turned = (): Promise<void> => new Promise((resolve) => immediate(resolve));

export class Scheduler {
  readonly #random: Random;
  readonly #settled: () => Promise<void>;
  readonly #heap: Entry[] = [];
  readonly #along: { readonly kind: string; nth: number; readonly promises: number; readonly due: () => void }[] = [];
  #now = 0;
  #nth = 0;
  #waiting = 0;
  /** Told of each event before it happens. */
  onEvent: ((kind: string) => void) | null = null;
  events = 0;
  /** The most events that ever waited at once. */
  waitingMost = 0;

  constructor(random: Random, strict: boolean) {
    this.#random = random;
    this.#settled = strict ? turned : drained;
  }

  /** Milliseconds since the beginning: they never go back, whatever clocks on walls say. */
  get now(): number {
    return this.#now;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Happens `ms` from now. */
  after(ms: number, kind: string, due: () => void): Cancel {
    const entry: Entry = { at: this.#now + Math.max(0, ms), order: this.#random.next(), nth: this.#nth++, kind, due };
    this.#push(entry);
    this.#waiting++;
    if (this.#waiting > this.waitingMost) this.waitingMost = this.#waiting;
    return () => {
      if (entry.due === null) return;
      entry.due = null;
      this.#waiting--;
    };
  }

  /** Happens in the midst of the n-th event of a kind from now: after so many of the promises that it settles. */
  along(moment: Moment, due: () => void): void {
    this.#along.push({ ...moment, due });
  }

  /** Goes on until it is done, nothing is left to happen, or so many events have happened. */
  async run(done: () => boolean, eventsMax: number): Promise<'done' | 'idle' | 'endless'> {
    await this.#settled();
    for (let events = 0; events < eventsMax; events++) {
      if (done()) return 'done';
      const entry = this.#pop();
      if (entry === undefined) return 'idle';
      this.#now = entry.at;
      const { due } = entry;
      entry.due = null;
      this.#waiting--;
      this.events++;
      this.onEvent?.(entry.kind);
      due!();
      for (const along of this.#along)
        if (entry.kind.startsWith(along.kind) && --along.nth === 0) hop(along.promises, along.due);
      await this.#settled();
    }
    return done() ? 'done' : 'endless';
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const above = (place - 1) >>> 1;
      if (!isBefore(entry, heap[above]!)) break;
      heap[place] = heap[above]!;
      place = above;
    }
    heap[place] = entry;
  }

  #pop(): Entry | undefined {
    for (;;) {
      const first = this.#heap[0];
      const last = this.#heap.pop();
      if (first === undefined || last === undefined) return undefined;
      if (first !== last) this.#sink(last);
      if (first.due !== null) return first;
    }
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      let below = place * 2 + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
      if (!isBefore(heap[below]!, entry)) break;
      heap[place] = heap[below]!;
      place = below;
    }
    heap[place] = entry;
  }
}

/** After so many more promises have settled. */
export const hop = (promises: number, due: () => void): void =>
  queueMicrotask(() => (promises === 0 ? due() : hop(promises - 1, due)));

const isBefore = (one: Entry, other: Entry): boolean =>
  one.at !== other.at ? one.at < other.at : one.order !== other.order ? one.order < other.order : one.nth < other.nth;
