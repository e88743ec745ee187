// The real clock, real randomness and real surroundings. Nothing below reaches for them by itself.
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import type { Clock, Ids } from '#contracts';
import type { Place } from './agents/place.ts';

/** Longer than that and setTimeout would fire at once. */
const timerMsMax = 2_147_483_647;

export const systemClock: Clock = {
  now: Date.now,
  timer: (ms, due) => {
    if (ms === Infinity) return () => undefined;
    const timer = setTimeout(due, Math.min(ms, timerMsMax));
    return () => clearTimeout(timer);
  },
};

export const systemIds: Ids = {
  random: () => {
    const id = randomUUID();
    return id.slice(0, 8) + id.slice(9, 13);
  },
};

/** Read once, when it is asked for: nothing below looks at the process. */
export const systemPlace = (): Place => ({ cwd: process.cwd(), home: homedir(), env: { ...process.env } });
