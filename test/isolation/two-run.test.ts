import * as cloister from 'cloister';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRuns, testSeed } from '../test-seed.ts';
import { childState, watchParent } from './child-varies.ts';
import { World } from './fake-world.ts';
import { parentState, watchChild } from './parent-varies.ts';
import { firstDifference } from './observer.ts';
import { comparePairs, differenceText } from './two-run.ts';
import type { Direction } from './two-run.ts';

const again = testSeed();

const compare = async (direction: Direction, pairs: number) => {
  const report = await comparePairs(cloister, direction, { pairs, ...again });
  expect(differenceText(report)).toBe('no difference');
  if (again.path === undefined) expect(report.pairs).toBe(pairs);
  return report;
};

// invariant: child-gets-what-is-named
test('a child, its tools and its own child see the same bytes whatever the parent knows', async () => {
  const { pairs, sights: observations } = await compare('down', testRuns(250));
  // Less would mean that the child hardly did anything.
  expect(observations / pairs).toBeGreaterThan(15);
});

test('a parent and a sibling see the same bytes whatever a child keeps private', async () => {
  const { pairs, sights: observations } = await compare('up', testRuns(150));
  expect(observations / pairs).toBeGreaterThan(10);
});

// The arguments were JSON then, and the tool waited for a time that was not a number: until its step timed out.
test('arguments that are not JSON stay so whatever text they contain', async () => {
  const [state] = fc.sample(childState, { numRuns: 1, seed: 1 });
  const fixed = { ending: { kind: 'answer', answer: 'Tea.', limit: 'max_steps' }, viaGather: false } as const;
  const seenWith = async (...texts: readonly string[]) => {
    const acts = texts.map((text) => ({ kind: 'broken', text, delayMs: 1 }) as const);
    return watchParent(cloister, fixed, {
      ...state!,
      turns: acts.map((act) => ({ text: '', acts: [act], delayMs: 1 })),
    });
  };
  expect(firstDifference(await seenWith(), await seenWith('6}', '"x"}', ''))).toBeNull();
  await expect(new World(1, 0).sleep(Number.NaN)).rejects.toThrow('A timer needs a time');
});

test('the comparison covers every way in which a cell receives something', async () => {
  const [state] = fc.sample(parentState, { numRuns: 1, seed: 1 });
  const observations = await watchChild(cloister, 'WATCHED Compare.', state!, true);
  const all = observations.map(({ bytes }) => bytes).join('\n');
  const expectedTexts = [
    'Your task: WATCHED Compare.',
    'Seen by ',
    'No luck with ',
    'Read more with read_output',
    '[bytes ',
    'No files.',
    '\\"notes.md\\" does not exist',
    'No output is named \\"burst_001.txt\\"',
    'is not one of: ',
    'Expected a single JSON object.',
    'Result from grand (status: completed)',
    'Your earlier steps, abbreviated',
    '"maxOutputTokens":8192',
    '"key":"child-id 0/1"',
    '"rule":"child-result@1"',
  ];
  expect(expectedTexts.filter((words) => !all.includes(words))).toEqual([]);
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
