// Many seeds in test cases of a few hundred, so that a failure names its seed.
import { expect, test } from 'vitest';
import { failureText, runSeeds } from '../../sim/index.ts';

/** In CI one range of seeds, so that a red build is about the change that it builds. Everywhere else a fresh one. */
const base = process.env['CI'] === undefined ? Date.now() % 1_000_000_000 : 20_261_115;

const perCase = 250;

export const seedsPass = (half: 0 | 1, count: number): void => {
  const first = base + half * count;
  const starts = Array.from({ length: count / perCase }, (_, index) => first + index * perCase);
  test.each(starts)(
    `seeds %i and the ${perCase - 1} after it: nothing is lost, nothing is left over`,
    async (from) => {
      const { failures, seeds, twice } = await runSeeds(from, perCase);
      expect(failures.map(failureText)).toEqual([]);
      expect(seeds).toBe(perCase);
      // One in a hundred runs a second time, and its trace is the same.
      expect(twice).toBeGreaterThanOrEqual(Math.floor(perCase / 100));
    },
    180_000,
  );
};
