// A fake world whose time stands still for several turns of the event loop instead of one: a run with client tools checks in
// the next turn whether all calls that can start have started.
import { countingIds } from 'cloister/testkit';
import type { Clock, Ids } from '#contracts';
import { turns } from '../app/serve/crowd-world.ts';

export type PatientWorld = {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Lets time jump from timer to timer until the work is done. */
  finish<T>(work: Promise<T>): Promise<T>;
};

type Timer = { readonly at: number; readonly due: () => void };

const patience = 4;

export const patientWorld = (seed: number, startMs: number): PatientWorld => {
  let now = startMs;
  const timers: Timer[] = [];
  const timer: Clock['timer'] = (ms, due) => {
    const set = { at: now + Math.max(0, ms), due };
    const later = timers.findIndex(({ at }) => at > set.at);
    timers.splice(later === -1 ? timers.length : later, 0, set);
    return () => {
      const place = timers.indexOf(set);
      if (place >= 0) timers.splice(place, 1);
    };
  };
  return {
    clock: { now: () => now, timer },
    ids: countingIds(seed),
    finish: async (work) => {
      let over = false;
      const end = (): void => void (over = true);
      work.then(end, end);
      for (;;) {
        await turns(patience);
        if (over) return work;
        const next = timers.shift();
        if (next === undefined) throw new Error('Nothing is due any more, and the work has not ended.');
        now = next.at;
        next.due();
      }
    },
  };
};
