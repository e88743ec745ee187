// Time that jumps: whoever drives it fires the next timer, and then it is that late.
//
//   T1. Timers fire in the order of their time, equal ones in the order in which they were set.
//   T2. While promises still settle, no time passes; nor, for a while, when something real is waited for.
import assert from 'node:assert';
// Imported, so that a test runner's fake timers do not stop it.
import { setImmediate, setTimeout } from 'node:timers';
import type { Clock, CancelTimer } from '#contracts';

type Timer = { readonly at: number; readonly due: () => void };

/** Calls of real models and tools that have not been answered yet. */
export type OpenCalls = { count: number };

/** When nothing was due for so long, by the real clock, nothing will be. */
const idleMsMax = 5_000;
/** For so many turns of the event loop, of a millisecond or more, a file or a timer is waited for when nothing changes. */
const patience = { file: 5_000, timer: 250 };

export class FakeTime implements Clock {
  #now: number;
  readonly #timers: Timer[] = [];
  readonly #calls: OpenCalls | null;

  /** `calls`: something real may be waited for; null when there is nothing real. */
  constructor(startMs: number, calls: OpenCalls | null) {
    this.#now = startMs;
    this.#calls = calls;
  }

  now(): number {
    return this.#now;
  }

  timer(ms: number, due: () => void): CancelTimer {
    assert(!Number.isNaN(ms), 'a timer needs a number of milliseconds');
    const timer = { at: this.#now + Math.max(0, ms), due };
    let index = this.#timers.length;
    while (index > 0 && this.#timers[index - 1]!.at > timer.at) index--;
    this.#timers.splice(index, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  /** Undefined when there is nothing to wait for. */
  sleep(ms: number): Promise<void> | undefined {
    return ms <= 0 ? undefined : new Promise((resolve) => void this.timer(ms, resolve));
  }

  /** Moves on, firing what falls due in order; promises settle before, between and after. */
  async advance(ms: number): Promise<void> {
    assert(ms >= 0, 'time does not go back');
    const until = this.#now + ms;
    do await settled();
    while (this.#fireNext(until));
    this.#now = until;
  }

  /** Until all has happened that can without time passing. */
  async rest(): Promise<void> {
    await this.advance(0);
    const calls = this.#calls;
    if (calls !== null) await this.#realWork(calls, () => calls.count === 0);
    await this.advance(0);
  }

  /** Lets time jump from timer to timer until the work is done. Rejects as it does, or when nothing is left to wait for. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const end = (): boolean => (over = true);
    work.then(end, end);
    for (let idleFrom = 0; idleFrom === 0 || performance.now() - idleFrom < idleMsMax;) {
      await settled();
      if (!over && this.#calls !== null) await this.#realWork(this.#calls, () => over);
      if (over) return work;
      if (this.#fireNext(Infinity)) idleFrom = 0;
      else if (idleFrom === 0) idleFrom = performance.now();
    }
    throw new Error(
      'Nothing is due any more, and the work has not ended: it waits for something outside this fake world, such as real time or a network.',
    );
  }

  /** Until files that are read or written are, and calls that may wait for a real timer are answered. */
  async #realWork(calls: OpenCalls, isOver: () => boolean): Promise<void> {
    let seen = '';
    for (let turns = 0; !isOver(); turns++) {
      const active = process.getActiveResourcesInfo();
      const forFile = active.some((kind) => kind.includes('Req'));
      if (!forFile && !(calls.count > 0 && active.includes('Timeout'))) return;
      const state = `${calls.count} ${active.join(' ')}`;
      if (state !== seen) [seen, turns] = [state, 0];
      if (turns > (forFile ? patience.file : patience.timer)) return;
      await turned();
    }
  }

  /** True when a timer was due by then. */
  #fireNext(until: number): boolean {
    const [timer] = this.#timers;
    if (timer === undefined || timer.at > until || timer.at === Infinity) return false;
    this.#timers.shift();
    this.#now = timer.at;
    timer.due();
    return true;
  }
}

/** A little later: what is real need not be asked for all the time. */
const turned = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1));

/** All microtasks run before an immediate does. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Counts a call until it is answered. */
export const counted = async <T>(calls: OpenCalls, call: () => PromiseLike<T> | T): Promise<T> => {
  calls.count++;
  try {
    return await call();
  } finally {
    calls.count--;
  }
};
