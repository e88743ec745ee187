import { expect, test } from 'vitest';
import { runCrowd } from './crowd.ts';

test('of 1,000 callers at once, none is told anything of another in 10,000 answers', { timeout: 300_000 }, async () => {
  const report = await runCrowd({ callers: 1_000, answers: 10_000, seed: 1 });
  expect(report.problems.slice(0, 5)).toEqual([]);
  expect(report).toMatchObject({ answers: 10_000, left: 0 });
  expect(report.aborted).toBeGreaterThan(900);
  expect(report.probed).toBeGreaterThan(900);
});
