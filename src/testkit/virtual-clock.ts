// Time that passes only when a test says so.
import assert from 'node:assert';
// Imported, so that a test runner's fake timers do not stop it.
import { setImmediate } from 'node:timers';
import type { Clock } from '#contracts';

export type VirtualClock = Clock & {
  /** Moves on, firing what falls due in order; promises settle before, between and after. */
  advance(ms: number): Promise<void>;
  /** Moves on until no timer is left. */
  runAll(): Promise<void>;
  /** How many timers are set. */
  readonly waiting: number;
};

type Timer = { readonly at: number; readonly due: () => void };

/** More timers than this in one `runAll` are taken for an endless loop. */
const firingsMax = 100_000;

export const virtualClock = (startMs = 0): VirtualClock => {
  let now = startMs;
  const timers: Timer[] = [];

  /** True when a timer was due by then. */
  const fireNext = async (untilMs: number): Promise<boolean> => {
    await settle();
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
      timers.splice(placeFor(timer, timers), 0, timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index >= 0) timers.splice(index, 1);
      };
    },
    async advance(ms) {
      assert(ms >= 0, 'time does not go back');
      const untilMs = now + ms;
      while (await fireNext(untilMs));
      now = untilMs;
    },
    async runAll() {
      for (let firings = 0; await fireNext(Infinity); firings++)
        assert(firings < firingsMax, `${firingsMax} timers fired and there are still more`);
    },
    get waiting() {
      return timers.length;
    },
  };
};

/** After all that is due at the same time, so that equal timers fire in the order they were set. */
const placeFor = ({ at }: Timer, timers: readonly Timer[]): number => {
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timers[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** All microtasks run before an immediate does. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
