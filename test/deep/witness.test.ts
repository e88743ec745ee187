import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWitness, witnessPath } from '../../deep/subject/witness.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

// invariants: witness-before-effect, witness-opened-first
test('what a process saw is in the file that it opened at first when it dies of it', async () => {
  await using folder = await temporaryFolder();
  const workspace = join(folder.path, 'workspace');
  const moved = join(folder.path, 'moved');
  let found = '';
  const witness = openWitness(workspace, 1, '2', () => (found = readFileSync(moved, 'utf8')));
  witness.record({ saw: 'kept', ref: 'a' });
  renameSync(witnessPath(workspace), moved);
  witness.record({ saw: 'kept', ref: 'b' });
  const lines = found.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { by: 1, saw: 'kept', ref: 'a' },
    { by: 1, saw: 'kept', ref: 'b' },
  ]);
  expect(existsSync(witnessPath(workspace))).toBe(false);
});
