// The harness of all planted changes: what runs is the code as it was changed, and a change that is lost is an error.
import { readdir } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { myFolder, removeMine } from './folders.ts';
import { plantAll } from './plant-all.ts';
import { plantAndRun } from './plant.ts';
import type { Edit } from './plant.ts';

afterAll(removeMine);

const entry = 'test/planted/count-bytes.ts';
const wrong: Edit = { probe: 'utf8-bytes', put: 'text.length' };
const planted = (edits: readonly Edit[]) => plantAndRun({ entry, edits, args: ['é'] });

test('what runs is the code as it was changed, the rest as it is', async () => {
  const [untouched, changed] = await Promise.all([planted([]), planted([wrong])]);
  expect(untouched).toEqual({ exit: 0, stdout: '[2,null]\n', stderr: '' });
  expect(changed).toEqual({ exit: 3, stdout: '[1,null]\n', stderr: '' });
});

// invariant: plant-own-process
test('what one plant leaves in its realm reaches no other', async () => {
  const leaving: Edit = { ...wrong, put: "((globalThis as any).planted = 'left', 7)" };
  const plants = plantAll([
    { name: 'leaving', entry, edits: [leaving], args: ['é'] },
    { name: 'untouched', entry, edits: [], args: ['é'] },
  ]);
  expect(await plants.of('leaving')).toMatchObject({ stdout: '[7,"left"]\n' });
  expect(await plants.of('untouched')).toMatchObject({ stdout: '[2,null]\n' });
  await expect(plants.of('unknown')).rejects.toThrow('no plant called "unknown"');
  await plants.remove();
});

// invariant: plant-never-lost
test('a probe point that is not there is an error', async () => {
  await expect(planted([{ probe: 'nowhere', put: '' }])).rejects.toThrow('There is no probe point "nowhere" in src.');
});

test('a plant that changes one thing twice is an error', async () => {
  await expect(planted([wrong, wrong])).rejects.toThrow('changes one probe point twice');
});

// invariant: plant-never-lost
test('a change in a file that is not part of what runs is an error', async () => {
  await expect(planted([{ probe: 'cell-count-step', put: 'return 0;' }])).rejects.toThrow(
    /not part of what is run: .*cell\.ts/u,
  );
});

test('code that does not even load is not reported as a finding', async () => {
  const { exit, stderr } = await planted([{ ...wrong, put: '(nowhere as any)()' }]);
  expect(exit).toBe(1);
  expect(stderr).toContain('nowhere is not defined');
});

test('two plants of one name are an error', () => {
  const one = { name: 'one', entry, edits: [] };
  expect(() => plantAll([one, one])).toThrow('the same name');
});

// invariant: plant-never-ships
test('nothing is left behind', async () => {
  await planted([wrong]);
  expect(await readdir(await myFolder())).toEqual([]);
});
