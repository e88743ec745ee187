import { expect, test } from 'vitest';
import { pausedMs } from '../../../src/core/cells/paused-ms.ts';

const pauses = [
  { from: { no: 3, at: 100 }, to: { no: 6, at: 185 } },
  { from: { no: 8, at: 300 }, to: null },
];

test('a wait counts as far as its cell has seen, and no further than the time at which the cell was stopped', () => {
  expect(pausedMs(pauses, { now: 100, nowFrame: 2 })).toBe(0);
  expect(pausedMs(pauses, { now: 150, nowFrame: 4 })).toBe(50);
  expect(pausedMs(pauses, { now: 190, nowFrame: 7 })).toBe(85);
  expect(pausedMs(pauses, { now: 182, nowFrame: 6 })).toBe(82);
  expect(pausedMs(pauses, { now: 310, nowFrame: 9 })).toBe(95);
});
