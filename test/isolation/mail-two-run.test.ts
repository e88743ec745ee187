// What members of a team that talks are shown does not depend on what another keeps to itself.
import { expect, test } from 'vitest';
import { comparePairs } from './mail-two-run.ts';

test('what one hears never depends on what another keeps to itself', async () => {
  const { differences, sights, pairs } = await comparePairs(75, 7);
  expect(differences).toEqual([]);
  expect(pairs).toBe(225);
  expect(sights).toBeGreaterThan(1_500);
});
