// `cloister rebuild` in a real workspace: a list of runs that is wrong or gone, and the files of a run.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { cloister, cloisterJson, newFolder, team } from './driver.ts';

test('what was lost of the list of runs, and the files of a run, are derived from the logs again', async () => {
  const workspace = newFolder();
  const inWorkspace = (...args: string[]): string[] => [...args, '--workspace', workspace];
  const runs: string[] = [];
  for (const words of ['one two three', 'four'])
    runs.push((await cloisterJson(inWorkspace('run', 'lead', words, '--agents', team))).run);
  const before = await cloisterJson(inWorkspace('runs'));
  // Nobody has asked for files.
  expect(existsSync(join(workspace, 'runs'))).toBe(false);
  {
    using database = new DatabaseSync(join(workspace, 'cloister.db'));
    database.prepare('DELETE FROM runs WHERE run = ?').run(runs[0]!);
    database.exec("UPDATE runs SET spent = '{}', goal = 'something else', cells = 7");
  }
  expect(await cloisterJson(inWorkspace('rebuild'))).toEqual({
    runs: 2,
    listed: runs.toSorted(),
    files: 0,
    skipped: [],
  });
  expect(await cloisterJson(inWorkspace('runs'))).toEqual(before);
  const again = await cloister(inWorkspace('rebuild'));
  expect(again).toMatchObject({ code: 0, stdout: 'Read the logs of 2 runs. Nothing had to be changed.\n' });

  const files = await cloister(inWorkspace('rebuild', runs[0]!));
  expect(files.stdout).toMatch(/^Read the log of 1 run\. Changed: \d+ files?\.\n/u);
  const { cells } = await cloisterJson(inWorkspace('show', runs[0]!));
  const step = join(workspace, 'runs', runs[0]!, cells[0].cell, 'history', 'step_001.json');
  expect(JSON.parse(readFileSync(step, 'utf8'))).toMatchObject({ id: 'step_001', success: true });
  expect(existsSync(join(workspace, 'runs', runs[1]!))).toBe(false);
  expect((await cloister(inWorkspace('audit', runs[0]!))).code).toBe(0);
});
