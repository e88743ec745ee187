// The store finds a damaged record and reports its number.
import type { Judge } from './judge.ts';

export const damage: Judge = {
  name: 'damaged records are reported',
  check: ({ damage: tried }, report) => {
    if (tried === null) return 0;
    const { what, no, named } = tried;
    if (!named.some((words) => new RegExp(`\\b${no}\\b`, 'u').test(words)))
      report(`a report about frame ${no} (${what})`, named.join('; ') || 'no problem was reported');
    return 1;
  },
};
