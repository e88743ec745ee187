// The comparison of agents that are files, and the search for secrets, are only worth what they catch.
import { afterAll, expect, test } from 'vitest';
import { checkCopies } from './plant-copies.ts';
import { fileLeaks, untouchedChecks } from './planted-file-leaks.ts';

const untouched = { name: 'nothing', edits: [], checks: untouchedChecks };
const copies = checkCopies(
  [untouched, ...fileLeaks.map(({ check, ...leak }) => ({ ...leak, checks: [check] }))].map(
    ({ name, edits, checks }) => ({
      name,
      edits,
      script: 'check-files-copy.ts',
      args: [JSON.stringify(checks)],
    }),
  ),
);
/** A busy machine is slow, not wrong. */
const timeout = 300_000;

afterAll(() => copies.remove());

test('in the untouched copy nothing differs and no secret is found', { timeout }, async () => {
  expect(await copies.of(untouched.name)).toMatchObject({ exit: 0, stdout: '[]\n' });
});

test.each(fileLeaks.map((leak) => [leak.name, leak] as const))(
  'a leak is caught: %s',
  { timeout },
  async (name, leak) => {
    const { exit, stdout, stderr } = await copies.of(name);
    expect({ exit, ...(exit === 3 ? {} : { stderr }) }).toEqual({ exit: 3 });
    const seen = JSON.parse(stdout) as readonly string[];
    expect(seen).toContainEqual(expect.stringMatching(leak.seenIn));
  },
);
