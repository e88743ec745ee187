// Made again from its log alone, a run comes out the same.
import type { Judge } from './judge.ts';

export const replay: Judge = {
  name: 'replay hash = live hash',
  look: ({ runs }, say) => {
    for (const { run, frames, replay: made } of runs)
      if (frames.length > 0 && (!made.ok || made.recorded !== made.replayed))
        say(`run ${run} to come out as ${made.recorded}`, `${made.replayed}: ${made.said}`);
    return runs.length;
  },
};
