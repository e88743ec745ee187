// The comparison of agents that are files, and the search for secrets, are only worth what they catch.
import { afterAll, expect, test } from 'vitest';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { fileLeaks as all, untouchedChecks } from './planted-file-leaks.ts';

const fileLeaks = chosen(all);
const untouched = { name: 'nothing', edits: [], checks: untouchedChecks };
const plants = plantAll(
  [...(triesAll ? [untouched] : []), ...fileLeaks.map(({ check, ...leak }) => ({ ...leak, checks: [check] }))].map(
    ({ name, edits, checks }) => ({
      name,
      edits,
      entry: 'test/isolation/check-files.ts',
      args: [JSON.stringify(checks)],
    }),
  ),
);
afterAll(() => plants.remove());

test.runIf(triesAll)('in the unmodified code nothing differs and no secret is found', async () => {
  expect(await plants.of(untouched.name)).toMatchObject({ exit: 0, stdout: '[]\n' });
});

test.each(fileLeaks.map((leak) => [leak.name, leak] as const))('a leak is caught: %s', async (name, leak) => {
  const { exit, stdout, stderr } = await plants.of(name);
  expect({ exit, ...(exit === 3 ? {} : { stderr }) }).toEqual({ exit: 3 });
  const seen = JSON.parse(stdout) as readonly string[];
  expect(seen).toContainEqual(expect.stringMatching(leak.seenIn));
});
