// 10,000 cases are in the lane `schemas` of `npm run test:deep`; how long they take is in `npm run bench -- schemas`.
import { expect, test } from 'vitest';
import { judgeHostileCase } from './judge-hostile-case.ts';

test('no hostile schema and value takes more steps than a check may, and both checks of each say the same', () => {
  const judged = Array.from({ length: 180 }, (_, seed) => judgeHostileCase(seed));
  expect(judged.flatMap(({ problem }) => problem ?? [])).toEqual([]);
  expect(judged.filter(({ isRefused }) => isRefused).length).toBeGreaterThan(20);
  expect(judged.filter(({ isRefused }) => !isRefused).length).toBeGreaterThan(60);
});
