// What members of a team that exchanges messages are shown does not depend on another's private content.
import { expect, test } from 'vitest';
import { comparePairs } from './mail-two-run.ts';

test('what one agent receives never depends on another’s private content', async () => {
  const { differences, sights: observations, pairs } = await comparePairs(75, 7);
  expect(differences).toEqual([]);
  expect(pairs).toBe(225);
  expect(observations).toBeGreaterThan(1_500);
});
