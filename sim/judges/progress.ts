// Once no more faults occur, every run ends soon.
import type { Judge } from './judge.ts';

export const progress: Judge = {
  name: 'progress once faults stop',
  check: ({ ended: { by, events, unfinished } }, report) => {
    if (by !== 'done')
      report(
        'every run to end once faults have stopped',
        `${by} after ${events} events; not ended: ${unfinished.join(', ') || 'the processes'}`,
      );
    return 1;
  },
};
