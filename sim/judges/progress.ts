// Once nothing fails any more, every run ends, and soon.
import type { Judge } from './judge.ts';

export const progress: Judge = {
  name: 'progress once faults stop',
  look: ({ ended: { by, events, unfinished } }, say) => {
    if (by !== 'done')
      say(
        'every run to end once nothing fails any more',
        `${by} after ${events} events; not ended: ${unfinished.join(', ') || 'the processes'}`,
      );
    return 1;
  },
};
