// A world for tests: hand its clock and ids to `openCloister`, and nothing waits for real time.
import type { Clock, Ids } from '#contracts';
import { countingIds } from './counting-ids.ts';
import { FakeTime } from './isolation/fake-time.ts';
import type { OpenCalls } from './isolation/fake-time.ts';

export type FakeWorld = {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Moves on, firing what falls due in order; promises settle before, between and after. */
  advance(ms: number): Promise<void>;
  /** Lets time jump from timer to timer until the work is done; files that are being read or written are waited for first. */
  finish<T>(work: Promise<T>): Promise<T>;
};

/** The same seed gives the same ids. */
export const fakeWorld = (seed: string | number = 0, startMs = 0): FakeWorld =>
  fakeWorldAround({ count: 0 }, seed, startMs);

/** With calls that may wait for real timers. */
export const fakeWorldAround = (calls: OpenCalls, seed: string | number, startMs = 0): FakeWorld => {
  const time = new FakeTime(startMs, calls);
  return {
    clock: { now: () => time.now(), timer: (ms, due) => time.timer(ms, due) },
    ids: countingIds(seed),
    advance: (ms) => time.advance(ms),
    finish: (work) => time.finish(work),
  };
};
