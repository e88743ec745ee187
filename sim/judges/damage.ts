// A record that was changed where it lies is found, and named.
import type { Judge } from './judge.ts';

export const damage: Judge = {
  name: 'damage is named',
  look: ({ damage: tried }, say) => {
    if (tried === null) return 0;
    const { what, no, named } = tried;
    if (!named.some((words) => new RegExp(`\\b${no}\\b`, 'u').test(words)))
      say(`frame ${no} to be named after this: ${what}`, named.join('; ') || 'nothing was found');
    return 1;
  },
};
