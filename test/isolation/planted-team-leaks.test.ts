// The comparison of teams is only worth what it catches: it must report every planted leak.
import { afterAll, expect, test } from 'vitest';
import type { IsolationReport } from '#testkit';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { teamLeaks as all } from './planted-team-leaks.ts';
import type { TeamLeak } from './planted-team-leaks.ts';

const teamLeaks = chosen(all);
const untouched: TeamLeak = { name: 'nothing', edits: [] };
const plants = plantAll(
  [...(triesAll ? [untouched] : []), ...teamLeaks].map(
    ({ name, edits, entry = 'test/isolation/check-graph-pairs.ts' }) => ({
      name,
      edits,
      entry,
      // More pairs are compared elsewhere.
      args: [edits.length === 0 ? '20' : '240', '7'],
    }),
  ),
);

afterAll(() => plants.remove());

test.runIf(triesAll)('the unmodified code shows no difference', async () => {
  const { exit, stdout, stderr } = await plants.of('nothing');
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect((JSON.parse(stdout) as readonly IsolationReport[]).flatMap(({ differences }) => differences)).toEqual([]);
});

test.each(teamLeaks.map(({ name }) => name))('a leak is caught: %s', async (name) => {
  const { exit, stderr } = await plants.of(name);
  // 3: the comparison found a difference. Any other code means that the planted code did not even run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
});
