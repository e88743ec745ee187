// A replay of a run from its log alone gives the same result.
import type { Judge } from './judge.ts';

export const replay: Judge = {
  name: 'replay hash = live hash',
  check: ({ runs }, report) => {
    for (const { run, frames, replay: made } of runs)
      if (frames.length > 0 && (!made.ok || made.recorded !== made.replayed))
        report(`run ${run} to replay as ${made.recorded}`, `${made.replayed}: ${made.detail}`);
    return runs.length;
  },
};
