// What a task is shown does not depend on results outside its dependencies.
import { expect, test } from 'vitest';
import { testRuns, testSeed } from '../test-seed.ts';
import { comparePairs } from './graph-two-run.ts';

// invariant: task-gets-its-inputs
test('what a task is shown follows from its own text, the results that it depends on and its messages', async () => {
  const all = 4 * testRuns(100);
  const reports = await comparePairs(all, testSeed().seed, 2);
  expect(reports.flatMap(({ differences }) => differences)).toEqual([]);
  expect(reports.map(({ ok, agent }) => [agent, ok])).toEqual([
    ['talking', true],
    ['alone', true],
    ['wide', true],
    ['open', true],
  ]);
  expect(reports.reduce((sum, { pairs }) => sum + pairs, 0)).toBeGreaterThanOrEqual(all);
  // Less would mean that the cells hardly did anything.
  expect(reports.reduce((sum, { sights: observations }) => sum + observations, 0)).toBeGreaterThan(12 * all);
  const handed = reports.map(({ notes }) => /(\d+) results and (\d+) messages/u.exec(notes.join(' '))!);
  for (const [, results, messages] of handed) {
    expect(Number(results)).toBeGreaterThan(all);
    expect(Number(messages)).toBeGreaterThan(all / 20);
  }
});
