// Controls time and order from a seed: one queue of events. Between two events, all promises that can settle do so.
//
//   sim-time-by-events. Time moves only to the next event. Events at the same time happen in seeded order.
//   sim-cancelled-never-happens. A cancelled event never happens.
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

/** Called from a microtask; resolves when no other microtask is left. */
const drainMicrotasks = (): Promise<void> => new Promise((resolve) => nextTick(resolve));
/** The same, through the real event loop: slower, but unhandled rejections are reported. */
const turnEventLoop = (): Promise<void> => new Promise((resolve) => immediate(resolve));

export class Scheduler {
  readonly #random: Random;
  readonly #settle: () => Promise<void>;
  readonly #heap: Entry[] = [];
  readonly #duringEvent: { readonly kind: string; nth: number; readonly promises: number; readonly due: () => void }[] =
    [];
  #now = 0;
  #nth = 0;
  #waiting = 0;
  /** Called before each event. */
  onEvent: ((kind: string) => void) | null = null;
  events = 0;
  #fromRuntime = 0;
  /** The largest number of waiting events that the runtime caused. */
  fromRuntimePeak = 0;

  constructor(random: Random, strict: boolean) {
    this.#random = random;
    this.#settle = strict ? turnEventLoop : drainMicrotasks;
  }

  /** Milliseconds since the start. They never go backwards, unlike the wall clock. */
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
    if (!isPlanned(kind)) this.fromRuntimePeak = Math.max(this.fromRuntimePeak, ++this.#fromRuntime);
    return () => {
      if (entry.due !== null) this.#remove(entry);
    };
  }

  /** Runs `due` during the nth event of a kind from now, after a number of the promises that it settles. */
  duringEvent(moment: Moment, due: () => void): void {
    this.#duringEvent.push({ ...moment, due });
  }

  /** Runs until `done`, until no event is left, or until `eventsMax` events have happened. */
  async run(done: () => boolean, eventsMax: number): Promise<'done' | 'idle' | 'endless'> {
    await this.#settle();
    for (let events = 0; events < eventsMax; events++) {
      if (done()) return 'done';
      const entry = this.#pop();
      if (entry === undefined) return 'idle';
      this.#now = entry.at;
      const { due } = entry;
      this.#remove(entry);
      this.events++;
      this.onEvent?.(entry.kind);
      due!();
      for (const along of this.#duringEvent)
        if (entry.kind.startsWith(along.kind) && --along.nth === 0) afterPromises(along.promises, along.due);
      await this.#settle();
    }
    return done() ? 'done' : 'endless';
  }

  #remove(entry: Entry): void {
    entry.due = null;
    this.#waiting--;
    if (!isPlanned(entry.kind)) this.#fromRuntime--;
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

/** What simulated people and faults will do, planned long before; it is in no queue of the runtime. */
const plannedKinds: ReadonlySet<string> = new Set([
  'add tasks',
  'answer',
  'ask',
  'branch',
  'cancel',
  'check',
  'checkpoint',
  'clock',
  'close',
  'deliver again',
  'finish',
  'freeze',
  'give',
  'kill',
  'next turn',
  'restore',
  'rival',
  'send',
  'storage',
  'tell',
  'thaw',
  'turn',
]);

/** Kinds end with the number of a process or of a task. */
const isPlanned = (kind: string): boolean => plannedKinds.has(kind.replace(/ \d+$/u, ''));

/** Calls `due` after this many microtasks. */
export const afterPromises = (promises: number, due: () => void): void =>
  queueMicrotask(() => (promises === 0 ? due() : afterPromises(promises - 1, due)));

const isBefore = (one: Entry, other: Entry): boolean =>
  one.at !== other.at ? one.at < other.at : one.order !== other.order ? one.order < other.order : one.nth < other.nth;
