import * as cloister from 'cloister';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parentState, watchChild } from './parent-varies.ts';
import { firstDifference } from './observed.ts';
import { comparePairs, differenceText } from './two-run.ts';
import type { Direction } from './two-run.ts';

/** A busy machine is slow, not wrong. */
const timeout = 300_000;

const { TWO_RUN_SEED: seed, TWO_RUN_PATH: path } = process.env;
const again = { ...(seed !== undefined && { seed: Number(seed) }), ...(path !== undefined && { path }) };

const compare = async (direction: Direction, pairs: number) => {
  const report = await comparePairs(cloister, direction, { pairs, ...again });
  expect(differenceText(report)).toBe('no difference');
  return report;
};

test('a child, its tools and its own child see the same bytes whatever the parent knows', { timeout }, async () => {
  const { pairs, sights } = await compare('down', 250);
  if (path === undefined) expect(pairs).toBe(250);
  // Less would mean that the child hardly did anything.
  expect(sights / pairs).toBeGreaterThan(15);
});

test('a parent and a sibling see the same bytes whatever a child keeps to itself', { timeout }, async () => {
  const { pairs, sights } = await compare('up', 150);
  if (path === undefined) expect(pairs).toBe(150);
  expect(sights / pairs).toBeGreaterThan(10);
});

test('what is compared shows every way in which a cell is told something', async () => {
  const [state] = fc.sample(parentState, { numRuns: 1, seed: 1 });
  const sights = await watchChild(cloister, 'WATCHED Compare.', state!, true);
  const all = sights.map(({ bytes }) => bytes).join('\n');
  const told = [
    'Your task: WATCHED Compare.',
    'Seen by ',
    'No luck with ',
    'Read on with read_output',
    '[bytes ',
    'There are no files.',
    'There is no \\"notes.md\\"',
    'There is no output \\"burst_001.txt\\"',
    'is not one of: ',
    'They are not one JSON object.',
    'Result from grand (status: completed)',
    'Earlier steps of yours, shortened',
    '"maxOutputTokens":8192',
    '"key":"child-id 0/1"',
    '"rule":"child-result@1"',
  ];
  expect(told.filter((words) => !all.includes(words))).toEqual([]);
});

test('a difference is named by its sink and its first character', () => {
  const one = [
    { sink: 'child: request 1', bytes: 'same' },
    { sink: 'child: request 2', bytes: 'tea and milk' },
  ];
  const other = [one[0]!, { sink: 'child: request 2', bytes: 'tea and rum' }];
  expect(firstDifference(one, other)).toMatchObject({ sink: 'child: request 2', offset: 8 });
  expect(firstDifference(one, one.slice(0, 1))).toMatchObject({ sink: 'child: request 2 | (nothing)', offset: 0 });
  expect(firstDifference(one, [...one])).toBeNull();
});
