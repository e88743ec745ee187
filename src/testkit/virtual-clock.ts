// A clock whose time passes only when a test advances it.
import assert from 'node:assert';
// Imported, so that a test runner's fake timers do not replace it.
import { setImmediate } from 'node:timers';
import type { Clock } from '#contracts';

/** A clock for tests: its time passes only when you say so. */
export type VirtualClock = Clock & {
  /** Advances the time and fires due timers in order; promises settle before, between and after them. */
  advance(ms: number): Promise<void>;
  /** Advances the time until no timer is left. */
  runAll(): Promise<void>;
  /** How many timers are set. */
  readonly waiting: number;
};

type Timer = { readonly at: number; readonly due: () => void };

/** `runAll` treats more timers than this as an endless loop. */
const firingsMax = 100_000;

/** Makes a clock that stands at `startMs`. Pass it to `openCloister` as `clock`, and to whatever else waits. */
export const virtualClock = (startMs = 0): VirtualClock => {
  let now = startMs;
  const timers: Timer[] = [];

  /** Returns true if a timer was due by then. */
  const fireNext = async (untilMs: number): Promise<boolean> => {
    await settlePromises();
    const [timer] = timers;
    if (timer === undefined || timer.at > untilMs) return false;
    timers.shift();
    now = timer.at;
    timer.due();
    return true;
  };

  return {
    now: () => now,
    timer(ms, due) {
      assert(!Number.isNaN(ms), 'a timer needs a number of milliseconds');
      const timer = { at: now + Math.max(0, ms), due };
      timers.splice(insertionIndex(timer, timers), 0, timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index >= 0) timers.splice(index, 1);
      };
    },
    async advance(ms) {
      assert(ms >= 0, 'time cannot go backwards');
      const untilMs = now + ms;
      while (await fireNext(untilMs));
      now = untilMs;
    },
    async runAll() {
      for (let firings = 0; await fireNext(Infinity); firings++)
        assert(firings < firingsMax, `${firingsMax} timers fired and more are still set`);
    },
    get waiting() {
      return timers.length;
    },
  };
};

/** After all timers with the same time, so that equal timers fire in the order in which they were set. */
const insertionIndex = ({ at }: Timer, timers: readonly Timer[]): number => {
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timers[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** All microtasks run before an immediate. */
const settlePromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
