// What a person answers one cell tells no other, and that a cell waits shows nowhere: the comparison must report every planted leak.
import { afterAll, expect, test } from 'vitest';
import { chosen, triesAll } from '../planted/chosen.ts';
import { plantAll } from '../planted/plant-all.ts';
import { questionLeaks as all } from './planted-question-leaks.ts';
import type { QuestionLeak } from './planted-question-leaks.ts';

const leaks = chosen(all);
const untouched: QuestionLeak = { name: 'nothing', edits: [] };
const plants = plantAll(
  [untouched, ...leaks].map(({ name, edits }) => ({
    name,
    edits,
    entry: 'test/isolation/check-question-pairs.ts',
    args: [edits.length > 0 || triesAll ? '30' : '6', '1'],
  })),
);

afterAll(() => plants.remove());

test('the unmodified code shows no difference, and people were asked', async () => {
  const { exit, stdout, stderr } = await plants.of('nothing');
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  const { difference, asked } = JSON.parse(stdout) as { readonly difference: object | null; readonly asked: number };
  expect(difference).toBeNull();
  expect(asked).toBeGreaterThan(5);
});

test.each(leaks.map(({ name }) => name))('a leak is caught: %s', async (name) => {
  const { exit, stderr } = await plants.of(name);
  // 3: the comparison found a difference. Any other code means that the planted code did not even run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
});
