// The real clock, real randomness and real surroundings. Nothing below reaches for them by itself.
import { randomFillSync } from 'node:crypto';
import { homedir } from 'node:os';
import type { Clock, Ids } from '#contracts';
import type { LaunchEnvironment } from './agents/launch-environment.ts';

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

const idBytes = 6;
/** Drawn many at a time: a request takes half a dozen. */
const drawn = Buffer.alloc(idBytes * 256);
let next = drawn.length;

export const systemIds: Ids = {
  random: () => {
    if (next === drawn.length) {
      randomFillSync(drawn);
      next = 0;
    }
    next += idBytes;
    return drawn.toString('hex', next - idBytes, next);
  },
};

/** Read once, when it is asked for: nothing below looks at the process. */
export const systemPlace = (): LaunchEnvironment => ({ cwd: process.cwd(), home: homedir(), env: { ...process.env } });
