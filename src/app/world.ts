// The real clock and real randomness. Nothing below reaches for them by itself.
import { randomUUID } from 'node:crypto';
import type { Clock, Ids } from '#contracts';

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
