// A clock that jumps: firing the next timer sets the time to that timer's time.
//
//   timers-in-order. Timers fire by time; timers with the same time fire in the order in which they were set.
//   time-stands-still. No time passes while promises settle or, for a bounded while, while real work is in flight.
import assert from 'node:assert';
// Imported, so that a test runner's fake timers do not replace them.
import { setImmediate, setTimeout } from 'node:timers';
import type { Clock, CancelTimer } from '#contracts';
import type { OpenCalls } from './open-calls.ts';

type Timer = { readonly at: number; readonly due: () => void };

/** If no timer was due for this long, by the real clock, none will be. */
const idleMsMax = 5_000;
/** How many turns of the event loop (a millisecond or more each) to wait for a file or a timer while nothing changes. */
const waitTurnsMax = { file: 5_000, timer: 250 };

export class FakeTime implements Clock {
  #now: number;
  readonly #timers: Timer[] = [];
  readonly #calls: OpenCalls | null;

  /** `calls`: real calls in flight; null if there are none. */
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

  /** Returns undefined if there is nothing to wait for. */
  sleep(ms: number): Promise<void> | undefined {
    return ms <= 0 ? undefined : new Promise((resolve) => void this.timer(ms, resolve));
  }

  /** Advances the time and fires due timers in order; promises settle before, between and after them. */
  async advance(ms: number): Promise<void> {
    assert(ms >= 0, 'time cannot go backwards');
    const until = this.#now + ms;
    do await settlePromises();
    while (this.#fireNext(until));
    this.#now = until;
  }

  /** Waits until everything has happened that can happen without time passing. */
  async settle(): Promise<void> {
    await this.advance(0);
    const calls = this.#calls;
    if (calls !== null) await this.#waitForRealWork(calls, () => calls.count === 0);
    await this.advance(0);
  }

  /** Jumps from timer to timer until the work is done. Rejects if the work does, or if nothing is left to wait for. */
  async finish<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const end = (): boolean => (over = true);
    work.then(end, end);
    for (let idleFrom = 0; idleFrom === 0 || performance.now() - idleFrom < idleMsMax;) {
      await settlePromises();
      if (!over && this.#calls !== null) await this.#waitForRealWork(this.#calls, () => over);
      if (over) return work;
      if (this.#fireNext(Infinity)) idleFrom = 0;
      else if (idleFrom === 0) idleFrom = performance.now();
    }
    throw new Error(
      'No timer is left, and the work has not finished: it is waiting for something outside the fake world, such as real time or a network.',
    );
  }

  /** Waits for files that are being read or written, and for calls that may wait for a real timer. */
  async #waitForRealWork(calls: OpenCalls, isOver: () => boolean): Promise<void> {
    let seen = '';
    for (let turns = 0; !isOver(); turns++) {
      const active = process.getActiveResourcesInfo();
      const forFile = active.some((kind) => kind.includes('Req'));
      if (!forFile && !(calls.waitForTimers() && active.includes('Timeout'))) return;
      const state = `${calls.count} ${active.join(' ')}`;
      if (state !== seen) [seen, turns] = [state, 0];
      if (turns > (forFile ? waitTurnsMax.file : waitTurnsMax.timer)) return;
      await nextMillisecond();
    }
  }

  /** Returns true if a timer was due by then. */
  #fireNext(until: number): boolean {
    const [timer] = this.#timers;
    if (timer === undefined || timer.at > until || timer.at === Infinity) return false;
    this.#timers.shift();
    this.#now = timer.at;
    timer.due();
    return true;
  }
}

/** Waits a millisecond, so that real work is not polled all the time. */
const nextMillisecond = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1));

/** All microtasks run before an immediate. */
const settlePromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
