// The reference run as those who judge it know it.

export const goal = 'Survey the valley.';

export const budget = { tokens: 500_000, usd: 5, spawns: 4 };

/** How it ends and what it leaves behind, whatever was lost on the way. */
export const expected = {
  output: 'The valley is surveyed.',
  /** Written by the scribe, in this order, each into a folder of its own. */
  files: [
    { path: 'notes/valley.txt', content: `${'The valley is green. '.repeat(60)}\n` },
    { path: 'hills/north.txt', content: 'There are hills in the north.\n' },
  ],
} as const;
