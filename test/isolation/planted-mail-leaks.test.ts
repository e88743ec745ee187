// The comparison of teams that exchange messages is only worth what it catches: it must report every planted leak.
import { afterAll, expect, test } from 'vitest';
import type { IsolationReport } from '#testkit';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import {
  askerLeaks as allAskerLeaks,
  mailLeaks as allMailLeaks,
  spawnedLeaks as allSpawnedLeaks,
  windowLeaks as allWindowLeaks,
} from './planted-mail-leaks.ts';
import type { MailLeak } from './planted-mail-leaks.ts';

const [mailLeaks, askerLeaks, spawnedLeaks] = [chosen(allMailLeaks), chosen(allAskerLeaks), chosen(allSpawnedLeaks)];
const windowLeaks = chosen(allWindowLeaks);
const untouched: MailLeak = { name: 'nothing', edits: [] };
const plants = plantAll([
  ...[...(triesAll ? [untouched] : []), ...mailLeaks].map(({ name, edits }) => ({
    name,
    edits,
    entry: 'test/isolation/check-mail-pairs.ts',
    // More pairs are compared elsewhere.
    args: [edits.length === 0 ? '20' : '150', '7'],
  })),
  ...askerLeaks.map((leak) => ({ ...leak, entry: 'test/isolation/check-asker-pairs.ts', args: ['60', '7'] })),
  ...spawnedLeaks.map((leak) => ({ ...leak, entry: 'test/isolation/check-spawned-pairs.ts', args: ['40', '7'] })),
  ...windowLeaks.map((leak) => ({ ...leak, entry: 'test/isolation/check-small-windows.ts', args: ['400', '7'] })),
]);

afterAll(() => plants.remove());

test.runIf(triesAll)('the unmodified code shows no difference', async () => {
  const { exit, stdout, stderr } = await plants.of('nothing');
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect((JSON.parse(stdout) as IsolationReport).differences).toEqual([]);
});

test.each([...mailLeaks, ...askerLeaks, ...spawnedLeaks, ...windowLeaks].map(({ name }) => name))(
  'a leak is caught: %s',
  async (name) => {
    const { exit, stderr } = await plants.of(name);
    // 3: the comparison found a difference. Any other code means that the planted code did not even run.
    expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
  },
);
