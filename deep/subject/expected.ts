// What the judge knows about the reference run.

export const goal = 'Survey the valley.';

export const budget = { tokens: 500_000, usd: 5, spawns: 4 };

/** How the run ends and which files it leaves, whatever was lost on the way. */
export const expected = {
  output: 'The valley is surveyed.',
  /** Written by the scribe, in this order, each into its own folder. */
  files: [
    { path: 'notes/valley.txt', content: `${'The valley is green. '.repeat(60)}\n` },
    { path: 'hills/north.txt', content: 'There are hills in the north.\n' },
  ],
} as const;
