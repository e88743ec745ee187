// A world for tests. Pass its clock and ids to `openCloister`, and nothing waits for real time.
import type { Clock, Ids } from '#contracts';
import { countingIds } from './counting-ids.ts';
import { FakeTime } from './isolation/fake-time.ts';
import { OpenCalls } from './isolation/open-calls.ts';

/** Time and ids for tests, which are the same in every run. */
export type FakeWorld = {
  /** For `openCloister`, rehearsals and faults. */
  readonly clock: Clock;
  /** For `openCloister`. */
  readonly ids: Ids;
  /** Advances the time and fires due timers in order; promises settle before, between and after them. */
  advance(ms: number): Promise<void>;
  /** Jumps from timer to timer until the work is done. Waits first for files that are being read or written. */
  finish<T>(work: Promise<T>): Promise<T>;
};

/** The same seed gives the same ids. */
export const fakeWorld = (seed: string | number = 0, startMs = 0): FakeWorld =>
  createFakeWorld(new OpenCalls(), seed, startMs);

/** `calls`: calls in flight that may wait for real timers. */
export const createFakeWorld = (calls: OpenCalls, seed: string | number, startMs = 0): FakeWorld => {
  const time = new FakeTime(startMs, calls);
  return {
    clock: { now: () => time.now(), timer: (ms, due) => time.timer(ms, due) },
    ids: countingIds(seed),
    advance: (ms) => time.advance(ms),
    finish: (work) => time.finish(work),
  };
};
