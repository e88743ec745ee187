// The real clock, randomness and process environment. No lower layer accesses them directly.
import { randomFillSync } from 'node:crypto';
import { homedir } from 'node:os';
import type { Clock, Ids } from '#contracts';
import type { LaunchEnvironment } from '#app/agents';
import type { OpenPauses } from './run-reader.ts';
import type { StallClock } from './stall-monitor.ts';

/** With a longer delay, setTimeout would fire immediately. */
const timerMsMax = 2_147_483_647;

export const systemClock: Clock = {
  now: Date.now,
  timer: (ms, due) => {
    if (ms === Infinity) return () => undefined;
    const timer = setTimeout(due, Math.min(ms, timerMsMax));
    return () => clearTimeout(timer);
  },
};

export const systemStallClock: StallClock = {
  steady: () => performance.now(),
  every: (ms, tick) => {
    // The process may end although the loop is watched.
    const timer = setInterval(tick, ms).unref();
    return () => clearInterval(timer);
  },
};

/** Work on a log pauses for one turn of the loop whenever it has taken this long. */
const pauseAfterMs = 10;

export const systemPauses: OpenPauses = () => {
  let last = performance.now();
  return () => {
    if (performance.now() - last < pauseAfterMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        last = performance.now();
        resolve();
      });
    });
  };
};

const idBytes = 6;
/** Random bytes for many ids at a time: one request uses half a dozen. */
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

/** A snapshot of the process environment; no lower layer reads it directly. */
/** `config`: the config file that takes precedence over all others. */
export const systemLaunchEnvironment = (config: string | null = null): LaunchEnvironment => ({
  cwd: process.cwd(),
  home: homedir(),
  env: { ...process.env },
  ...(config === null ? {} : { config }),
});
