// The simulation is only worth what it catches: every planted bug must fail within so many seeds, and the untouched code not.
import { afterAll, expect, test } from 'vitest';
import { chosen } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { firstSeeds } from './first-seeds.ts';
import { bugs as all } from './planted-bugs.ts';
import type { Bug } from './planted-bugs.ts';

const firstSeed = 1_000;
const seedsMax = 2_000;
/** For the untouched code: many more run elsewhere. */
const seedsClean = 60;

const bugs = chosen(all);
const untouched: Bug = { name: 'nothing', edits: [] };
const plants = plantAll(
  [untouched, ...bugs].map(({ name, edits }) => ({
    name,
    edits,
    entry: 'test/sim/check-seeds.ts',
    args: [String(firstSeeds.get(name) ?? firstSeed), String(edits.length === 0 ? seedsClean : seedsMax)],
  })),
);

afterAll(() => plants.remove());

type Found = { readonly seeds: number; readonly problems: readonly { readonly judge: string }[] };

const resultOf = async ({ name }: Bug) => {
  const { exit, stdout, stderr } = await plants.of(name);
  return { exit, stderr, found: stdout === '' ? null : (JSON.parse(stdout) as Found) };
};

/** A busy machine is slow, not wrong. */
const timeout = 300_000;

test('the untouched code passes', { timeout }, async () => {
  const { exit, found, stderr } = await resultOf(untouched);
  expect({ exit, found, stderr }).toEqual({ exit: 0, found: { seeds: seedsClean, problems: [] }, stderr: '' });
});

test.each(bugs.map((bug) => [bug.name, bug] as const))('a bug is caught: %s', { timeout }, async (_name, bug) => {
  const { exit, found, stderr } = await resultOf(bug);
  // 3: a judge found something. Any other code means that the planted code did not even run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
  expect(found?.problems.length).toBeGreaterThan(0);
});
