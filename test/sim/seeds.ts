// Runs many seeds in test cases of a few hundred, so that a failure names its seeds.
import { expect, test } from 'vitest';
import { failureText, runSeeds } from '../../sim/index.ts';

/** A fixed range of seeds in CI, so that a failure is due to the change; new seeds everywhere else. */
const base = process.env['CI'] === undefined ? Date.now() % 1_000_000_000 : 20_261_115;

const perCase = 250;

export const seedsPass = (half: 0 | 1, count: number): void => {
  const first = base + half * count;
  const starts = Array.from({ length: count / perCase }, (_, index) => first + index * perCase);
  test.each(starts)(
    `all judges pass for seed %i and the ${perCase - 1} after it`,
    async (from) => {
      const { failures, seeds, twice } = await runSeeds(from, perCase);
      expect(failures.map(failureText)).toEqual([]);
      expect(seeds).toBe(perCase);
      // Every hundredth seed runs twice, with the same trace.
      expect(twice).toBeGreaterThanOrEqual(Math.floor(perCase / 100));
    },
    180_000,
  );
};
