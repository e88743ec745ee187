// Runs many seeds in a process of their own. A failure names its seeds, even if one of them kills the process.
import { expect, test } from 'vitest';
import { failureText } from '../../sim/failure-text.ts';
import { runSeedsApart } from '../../sim/run-seeds-apart.ts';
import { testSeed } from '../test-seed.ts';

export const seedsPass = (half: 0 | 1, count: number): void => {
  const from = testSeed().seed + half * count;
  // invariant: sim-model-honest
  test(`all judges pass for seed ${from} and the ${count - 1} after it`, async () => {
    const { failures, seeds, twice } = await runSeedsApart(from, count, { failuresMax: 5 });
    expect(failures.map(failureText)).toEqual([]);
    expect(seeds).toBe(count);
    // Every hundredth seed runs twice, with the same trace.
    expect(twice).toBeGreaterThanOrEqual(Math.floor(count / 100));
  });
};
