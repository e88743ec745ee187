// The commands about the life of runs, from one to the next, as a user calls them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { cloister, cloisterJson, newFolder, nodeNoise, readWithCloister, team, value } from './driver.ts';

/** The folder has a config with the operator's key. */
const withRun = async (keep: object = {}) => {
  const cwd = newFolder();
  writeFileSync(join(cwd, '.ai-agent.json'), JSON.stringify({ keep }));
  const key: { variable: string; secret: string; publicKey: string } = await cloisterJson(['key']);
  writeFileSync(join(cwd, '.ai-agent.env'), `${key.variable}=${key.secret}\n`);
  const start = async (): Promise<string> =>
    (await cloisterJson(['run', 'lead', 'one two three', '--agents', team, '--workspace', 'w'], { cwd })).run;
  const run = await start();
  const call = (...args: readonly string[]) => cloister([...args, '--workspace', 'w'], { cwd });
  return { cwd, key, run, start, call };
};

test.concurrent('a run is exported, taken in elsewhere, archived, read in its archive, brought back, and deleted', async () => {
  const { cwd, key, run, call } = await withRun();
  expect(await call('runs', 'export', 'last', '--to', 'run.cloister.gz')).toMatchObject({ code: 0, stderr: '' });
  const imported = await cloister(['runs', 'import', 'run.cloister.gz', '--workspace', 'other', '--json'], { cwd });
  expect(value(imported)).toEqual({ run });
  expect(value(await readWithCloister(['audit', run, '--workspace', join(cwd, 'other'), '--json'], { cwd })).ok).toBe(
    true,
  );
  const archived = value(await call('runs', 'archive', run.slice(0, 4), '--why', 'old', '--json'));
  expect(archived.tombstones).toMatchObject([
    { run, why: 'old', key: key.publicKey, archive: { file: `${run}.cloister.gz` } },
  ]);
  const file = join(cwd, 'w/archive', `${run}.cloister.gz`);
  expect(readFileSync(file).equals(readFileSync(join(cwd, 'run.cloister.gz')))).toBe(true);
  expect(value(await readWithCloister(['show', file, '--json'], { cwd }))).toMatchObject({ run });
  const shown = await readWithCloister(['show', run.slice(0, 5), '--workspace', join(cwd, 'w')], { cwd });
  expect([shown.code === 0, shown.stderr]).toEqual([false, expect.stringContaining(`Run ${run} was archived on`)]);
  expect(shown.stderr).not.toMatch(nodeNoise);
  expect(await call('runs', 'restore', run.slice(0, 5))).toMatchObject({ code: 0, stdout: `Restored run ${run}.\n` });
  expect(existsSync(file)).toBe(false);
  const deleted = await call('runs', 'delete', run);
  expect(deleted).toMatchObject({ code: 0, stderr: '' });
  expect(deleted.stdout).toContain(`The tombstones are signed with ${key.publicKey}.`);
  expect(deleted.stdout + archived).not.toContain(key.secret);
  expect(value(await call('runs', '--json'))).toEqual([]);
});

test.concurrent('expire goes by the config, and a log that was cut after a seal is found', async () => {
  const { cwd, key, run, start, call } = await withRun({ runs: 1 });
  const newest = await start();
  const due = await call('runs', 'expire', '--dry-run');
  expect(due.stdout).toBe(`Would delete 1 run.\n  ${run}  keep.runs: 1\n`);
  expect((await call('seal', 'heads.seal')).stdout).toContain(`Signed with ${key.publicKey}.`);
  expect(value(await call('runs', 'expire', '--json'))).toMatchObject([{ run, by: 'retention', why: 'keep.runs: 1' }]);
  const audit = () => call('audit', '--against', 'heads.seal', '--json');
  expect(value(await audit())).toMatchObject({ ok: true, keys: [key.publicKey] });
  {
    using database = new DatabaseSync(join(cwd, 'w/cloister.db'));
    database.exec(`DELETE FROM frames WHERE run = '${newest}' AND no > 2`);
  }
  const found = await audit();
  expect([found.code, value(found).ok]).toEqual([1, false]);
  expect(JSON.stringify(value(found).problems)).toContain(newest);
  writeFileSync(join(cwd, '.ai-agent.json'), JSON.stringify({ keep: { runs: 'all' } }));
  const refused = await call('runs', 'expire');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('keep.runs: Expected a whole number')]);
});
