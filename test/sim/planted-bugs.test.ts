// Every planted bug must be found within a number of seeds, by a judge that is meant to find it; the unchanged code must pass.
import { afterAll, expect, test } from 'vitest';
import { judges } from '../../sim/judges/index.ts';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { findings } from './plant-findings.ts';
import { bugs as all } from './planted-bugs.ts';
import type { Bug } from './planted-bugs.ts';

const seedsMax = 2_000;
/** For the unchanged code; other tests run many more. */
const seedsClean = 60;

const bugs = chosen(all);
const expected = new Map(findings.map(([bug, seed, ...by]) => [bug, { seed, judges: by }]));
const untouched: Bug = { name: 'nothing', edits: [] };
const plants = plantAll([
  { ...untouched, entry: 'test/sim/check-seeds.ts', args: ['1000', String(seedsClean)] },
  ...bugs.map(({ name, edits }) => ({
    name,
    edits,
    entry: 'test/sim/check-seeds.ts',
    args: [String(expected.get(name)!.seed), String(seedsMax)],
  })),
]);

afterAll(() => plants.remove());

type Found = { readonly seeds: number; readonly judges: readonly string[] };

const resultOf = async ({ name }: Bug) => {
  const { exit, stdout, stderr } = await plants.of(name);
  const last = stdout.trim().split('\n').at(-1)!;
  if (last.startsWith('{')) return { exit, stderr, found: JSON.parse(last) as Found };
  return { exit, stderr: `It died in seed ${last}.\n${stderr}`, found: null };
};

test('each planted bug is listed with the judges that find it', () => {
  expect(findings.map(([bug]) => bug)).toEqual(all.map(({ name }) => name));
  const names = new Set(['no defect', ...judges.map(({ name }) => name)]);
  expect(findings.flatMap(([, , ...by]) => by).filter((judge) => !names.has(judge))).toEqual([]);
});

test('the unchanged code passes', async () => {
  const { exit, found, stderr } = await resultOf(untouched);
  expect({ exit, found, stderr }).toEqual({ exit: 0, found: { seeds: seedsClean, judges: [] }, stderr: '' });
});

test.each(bugs.map((bug) => [bug.name, bug] as const))('a bug is caught: %s', async (name, bug) => {
  const { exit, found, stderr } = await resultOf(bug);
  // Exit code 3: a judge found a problem. Any other code means that the planted code did not run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
  const { seed, judges: meant } = expected.get(name)!;
  const by = found?.judges ?? [];
  // A line for the list.
  const line = JSON.stringify([name, seed + found!.seeds - 1, ...by]);
  if (triesAll && (found!.seeds > 1 || meant.some((judge) => !by.includes(judge)))) console.log(line);
  expect(
    by.filter((judge) => meant.includes(judge)),
    `It was found by other judges than listed: ${line}`,
  ).not.toEqual([]);
});
