// The two-run comparison is only worth what it catches: it must report every planted leak, and nothing in the unmodified code.
import { afterAll, expect, test } from 'vitest';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { leaks as all } from './planted-leaks.ts';
import type { Leak } from './planted-leaks.ts';
import type { Report } from './two-run.ts';

const pairs = 120;
/** For the unmodified code; many more pairs are compared elsewhere. */
const pairsClean = 20;
const seed = 20_261;

const leaks = chosen(all);
const untouched: Leak = { name: 'nothing', seenBy: 'child', edits: [] };
const plants = plantAll(
  [...(triesAll ? [untouched] : []), ...leaks].map(({ name, edits, seenBy }) => ({
    name,
    edits,
    entry: 'test/isolation/check-pairs.ts',
    args: [String(edits.length === 0 ? pairsClean : pairs), String(seed), seenBy === 'child' ? 'down' : 'up'],
  })),
);

afterAll(() => plants.remove());

const resultOf = async ({ name }: Leak) => {
  const { exit, stdout, stderr } = await plants.of(name);
  return { exit, stderr, report: stdout === '' ? null : (JSON.parse(stdout) as Report) };
};

test.runIf(triesAll)('the unmodified code shows no difference', async () => {
  const { exit, report, stderr } = await resultOf(untouched);
  expect({ exit, difference: report?.difference, stderr }).toEqual({ exit: 0, difference: null, stderr: '' });
});

test.each(leaks.map((leak) => [leak.name, leak] as const))('a leak is caught: %s', async (_name, leak) => {
  const { exit, report, stderr } = await resultOf(leak);
  // 3: the comparison found a difference. Any other code means that the planted code did not even run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
  expect(report?.difference?.sink).toMatch(leak.seenBy === 'child' ? /^(?:grand)?child: / : /^(?:parent|sibling): /u);
});
