import type { Clock } from '#contracts';

/** The time of this computer. */
export const realClock: Clock = {
  now: () => Date.now(),
  timer(ms, due) {
    const timeout = setTimeout(due, ms);
    return () => clearTimeout(timeout);
  },
};
