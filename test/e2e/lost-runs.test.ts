import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { appears, asked, cloister, newFolder, nodeNoise, startCloister, team, value } from './driver.ts';

const workspace = (cwd: string, name: string): string => join(cwd, '.cloister', name);

/** A folder whose workspace has a run that ended, and a newer one that was killed while it waited in a tool. */
const killRun = async () => {
  const cwd = newFolder();
  const older = (await asked(['run', 'lead', 'one two', '--agents', team], { cwd })).run as string;
  const { kill, ended } = startCloister(['run', 'gated', 'wait', '--agents', team], { cwd });
  await appears(join(cwd, 'entered'));
  kill('SIGKILL');
  await ended;
  const runs: { run: string }[] = await asked(['runs'], { cwd });
  return { cwd, older, run: runs[0]!.run };
};
let made: ReturnType<typeof killRun> | undefined;

/** Whoever asks has a copy of the same. */
const killed = async () => {
  const { cwd: from, older, run } = await (made ??= killRun());
  const cwd = newFolder();
  cpSync(from, cwd, { recursive: true });
  return { cwd, older, run };
};

const withoutWal = (cwd: string): void => rmSync(workspace(cwd, 'cloister.db-wal'));

describe.concurrent('a killed run whose write-ahead log is gone', () => {
  test('is shown as damaged with the command that says more, and not to be resumed', async () => {
    const { cwd, older, run } = await killed();
    withoutWal(cwd);
    const { code, stdout } = await cloister(['runs'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${run} +✗ damaged *$[^]*^${older} `, 'mu'));
    expect(stdout).toContain(`One run has lost records. What is missing:\n  npx cloister audit ${run}\n`);
    expect(stdout).not.toContain('resume');
    expect(await asked(['runs'], { cwd })).toMatchObject([
      { run, state: 'damaged' },
      { run: older, state: 'ended' },
    ]);
  });

  test('is what `last` and its first characters mean, and every command names what is missing', async () => {
    const { cwd, run } = await killed();
    withoutWal(cwd);
    const audited = await cloister(['audit', 'last', '--json'], { cwd });
    expect(audited.code).toBe(1);
    expect(value(audited).problems[0]).toMatchObject({ code: 'record-damaged' });
    const missing = new RegExp(`frames 0 to \\d+ of run ${run} are missing`, 'u');
    expect(audited.stdout).toMatch(missing);
    const first = run.slice(0, 8);
    for (const args of [
      ['show', first],
      ['resume', first],
      ['resume', 'last', '--agents', team],
      ['replay', first],
      ['explain', 'last', 'gated'],
    ]) {
      const { code, stdout, stderr } = await cloister(args, { cwd });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(missing);
      expect(stderr).not.toMatch(/no such run/iu);
      expect(stderr).not.toMatch(nodeNoise);
      expect(value(await cloister([...args, '--json'], { cwd }))).toMatchObject({ error: { code: 'store_damaged' } });
    }
  });

  test.each([
    ['missing', (path: string) => rmSync(path)],
    ['empty', (path: string) => writeFileSync(path, '')],
  ])('is named as well when the database is %s', async (what, change) => {
    const { cwd, run } = await killed();
    withoutWal(cwd);
    change(workspace(cwd, 'cloister.db'));
    expect(await asked(['runs'], { cwd })).toMatchObject([{ run, state: 'damaged' }]);
    expect((await asked(['resume', 'last', '--agents', team], { cwd })).error.code).toBe('store_damaged');
    expect(existsSync(workspace(cwd, 'cloister.db'))).toBe(what === 'empty');
  });
});

test('a run that only its frames know is damaged, and `show` says so', async () => {
  const { cwd, older } = await killed();
  {
    using database = new DatabaseSync(workspace(cwd, 'cloister.db'));
    database.exec(`DELETE FROM runs WHERE run = '${older}'`);
  }
  expect(await asked(['runs'], { cwd })).toContainEqual(
    expect.objectContaining({ run: older, agent: 'lead', state: 'damaged' }),
  );
  const shown = await cloister(['show', older], { cwd });
  expect(shown.code).toBe(1);
  expect(shown.stderr).toContain(`run ${older} is missing in the list of runs`);
});

describe.concurrent('a run whose owner is on another machine', () => {
  const moved = async () => {
    const { cwd, run } = await killed();
    using database = new DatabaseSync(workspace(cwd, 'cloister.db'));
    database.exec("UPDATE owners SET host = 'elsewhere'");
    return { cwd, run };
  };

  test('is refused in words that say what cannot be known, and taken over when asked to', async () => {
    const { cwd, run } = await moved();
    const refused = await cloister(['resume', 'last'], { cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /on another machine, elsewhere: it cannot be asked whether it lives\. If it does not:/u,
    );
    const again = `resume ${run} --take-over`;
    expect(refused.stderr).toContain(`npx cloister ${again}`);
    expect((await cloister(['runs'], { cwd })).stdout).toContain(`\n  npx cloister ${again}\n`);
    writeFileSync(join(cwd, 'go'), '');
    expect(await cloister(again.split(' '), { cwd })).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect(await asked(['audit', run], { cwd })).toMatchObject({ ok: true, problems: [] });
  });

  test('a run of a process that lives here is refused all the same', async () => {
    const cwd = newFolder();
    const { kill, ended } = startCloister(['run', 'gated', 'wait', '--agents', team], { cwd });
    await appears(join(cwd, 'entered'));
    expect(await asked(['resume', 'last', '--take-over'], { cwd })).toMatchObject({ error: { code: 'run_owned' } });
    kill('SIGKILL');
    await ended;
  });
});
