// The comparison of two people in Slack is only worth what it catches: it must report every planted leak.
import { afterAll, expect, test } from 'vitest';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { slackLeaks as all } from './planted-slack-leaks.ts';
import type { SlackLeak } from './planted-slack-leaks.ts';

const slackLeaks = chosen(all);
const untouched: SlackLeak = { name: 'nothing', edits: [] };
const plants = plantAll(
  [...(triesAll ? [untouched] : []), ...slackLeaks].map(({ name, edits }) => ({
    name,
    edits,
    entry: 'test/isolation/check-slack-pairs.ts',
    // More pairs are compared elsewhere.
    args: [edits.length === 0 ? '10' : '100', '7'],
  })),
);

afterAll(() => plants.remove());

test.runIf(triesAll)('the unmodified code shows no difference', async () => {
  const { exit, stdout, stderr } = await plants.of('nothing');
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({ pairs: 10, failed: false });
});

test.each(slackLeaks.map(({ name }) => name))('a leak is caught: %s', async (name) => {
  const { exit, stderr } = await plants.of(name);
  // 3: the comparison found a difference. Any other code means that the planted code did not even run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
});
