// Every planted bug must fail within a number of seeds, and the unchanged code must pass.
import { afterAll, expect, test } from 'vitest';
import { chosen } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { firstSeeds } from './first-seeds.ts';
import { bugs as all } from './planted-bugs.ts';
import type { Bug } from './planted-bugs.ts';

const firstSeed = 1_000;
const seedsMax = 2_000;
/** For the unchanged code; other tests run many more. */
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

type Found = { readonly seeds: number; readonly judges: readonly string[] };

const resultOf = async ({ name }: Bug) => {
  const { exit, stdout, stderr } = await plants.of(name);
  const last = stdout.trim().split('\n').at(-1)!;
  if (last.startsWith('{')) return { exit, stderr, found: JSON.parse(last) as Found };
  return { exit, stderr: `It died in seed ${last}.\n${stderr}`, found: null };
};

test('the unchanged code passes', async () => {
  const { exit, found, stderr } = await resultOf(untouched);
  expect({ exit, found, stderr }).toEqual({ exit: 0, found: { seeds: seedsClean, judges: [] }, stderr: '' });
});

test.each(bugs.map((bug) => [bug.name, bug] as const))('a bug is caught: %s', async (_name, bug) => {
  const { exit, found, stderr } = await resultOf(bug);
  // Exit code 3: a judge found a problem. Any other code means that the planted code did not run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
  // Code that merely throws is no bug of the kind that was meant, unless the plant says so.
  const { judges } = bug;
  const right = found?.judges.filter((judge) => judges?.includes(judge) ?? judge !== 'no defect') ?? [];
  expect(right, `Found by: ${found?.judges.join(', ')}`).not.toEqual([]);
});
