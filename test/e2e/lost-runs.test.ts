import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  fileAppears,
  cloisterJson,
  cloister,
  newFolder,
  nodeNoise,
  readWithCloister,
  startCloister,
  team,
  value,
} from './driver.ts';

const workspace = (cwd: string, name: string): string => join(cwd, '.cloister', name);

/** A folder whose workspace has a run that ended, and a newer one that was killed while it waited in a tool. */
const killRun = async () => {
  const cwd = newFolder();
  const older = (await cloisterJson(['run', 'lead', 'one two', '--agents', team], { cwd })).run as string;
  const { kill, ended } = startCloister(['run', 'gated', 'wait', '--agents', team], { cwd });
  await fileAppears(join(cwd, 'entered'));
  kill('SIGKILL');
  await ended;
  const runs: { run: string }[] = await cloisterJson(['runs'], { cwd });
  return { cwd, older, run: runs[0]!.run };
};
let made: ReturnType<typeof killRun> | undefined;

/** Each test gets its own copy. */
const killedRun = async () => {
  const { cwd: from, older, run } = await (made ??= killRun());
  const cwd = newFolder();
  cpSync(from, cwd, { recursive: true });
  return { cwd, older, run };
};

const withoutWal = (cwd: string): void => rmSync(workspace(cwd, 'cloister.db-wal'));

describe.concurrent('a killed run whose write-ahead log is gone', () => {
  test('is shown as damaged with the command that says more, and without a hint to resume', async () => {
    const { cwd, older, run } = await killedRun();
    withoutWal(cwd);
    const { code, stdout } = await cloister(['runs'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${run} +✗ damaged *$[^]*^${older} `, 'mu'));
    expect(stdout).toContain(`1 run has lost records. To list what is missing:\n  npx cloister audit ${run}\n`);
    expect(stdout).not.toContain('resume');
    expect(await cloisterJson(['runs'], { cwd })).toMatchObject([
      { run, state: 'damaged' },
      { run: older, state: 'ended' },
    ]);
  });

  test('is found by `last` and by its prefix, and every command reports what is missing', async () => {
    const { cwd, run } = await killedRun();
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
  ])('is also reported when the database is %s', async (what, change) => {
    const { cwd, run } = await killedRun();
    withoutWal(cwd);
    change(workspace(cwd, 'cloister.db'));
    expect(await cloisterJson(['runs'], { cwd })).toMatchObject([{ run, state: 'damaged' }]);
    expect((await cloisterJson(['resume', 'last', '--agents', team], { cwd })).error.code).toBe('store_damaged');
    expect(existsSync(workspace(cwd, 'cloister.db'))).toBe(what === 'empty');
  });
});

test('a run known only by its frames is damaged, and `show` says so', async () => {
  const { cwd, older } = await killedRun();
  {
    using database = new DatabaseSync(workspace(cwd, 'cloister.db'));
    database.exec(`DELETE FROM runs WHERE run = '${older}'`);
  }
  expect(await cloisterJson(['runs'], { cwd })).toContainEqual(
    expect.objectContaining({ run: older, agent: 'lead', state: 'damaged' }),
  );
  const shown = await cloister(['show', older], { cwd });
  expect(shown.code).toBe(1);
  expect(shown.stderr).toContain(`run ${older} is missing from the list of runs`);
});

describe.concurrent('a run whose owner is on another machine', () => {
  const moved = async () => {
    const { cwd, run } = await killedRun();
    using database = new DatabaseSync(workspace(cwd, 'cloister.db'));
    database.exec("UPDATE owners SET host = 'elsewhere'");
    return { cwd, run };
  };

  test('is refused with an error that says what cannot be known, and taken over on request', async () => {
    const { cwd, run } = await moved();
    const refused = await cloister(['resume', 'last'], { cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /on another machine, elsewhere, since \S+; whether it is alive cannot be checked\./u,
    );
    const again = `resume ${run} --take-over`;
    expect(refused.stderr).toContain(`npx cloister ${again}`);
    expect((await cloister(['runs'], { cwd })).stdout).toContain(`\n  npx cloister ${again}\n`);
    writeFileSync(join(cwd, 'go'), '');
    expect(await cloister(again.split(' '), { cwd })).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect(await cloisterJson(['audit', run], { cwd })).toMatchObject({ ok: true, problems: [] });
  });

  test('a command that is still alive there ends at once, and says who has its run now', async () => {
    const cwd = newFolder();
    const old = startCloister(['run', 'gated', 'wait', '--agents', team], { cwd });
    await fileAppears(join(cwd, 'entered'));
    {
      using database = new DatabaseSync(workspace(cwd, 'cloister.db'));
      database.exec("UPDATE owners SET host = 'elsewhere'");
    }
    rmSync(join(cwd, 'entered'));
    const next = startCloister(['resume', 'last', '--take-over', '--agents', team], { cwd });
    // It waits in a tool, and has nothing to record.
    const lost = await old.ended;
    expect(lost).toMatchObject({ code: 1 });
    expect(lost.stderr).toMatch(
      /error: Another process has taken this run over\. The owner of run \S+ is process \d+ on \S+ since \S+\.\ntry: It continues there\. Read it with `cloister show <run>`\.\n$/u,
    );
    await fileAppears(join(cwd, 'entered'));
    writeFileSync(join(cwd, 'go'), '');
    expect(await next.ended).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  });

  test('a run of a process on this machine is still refused, even if that is suspended', async () => {
    const cwd = newFolder();
    const { kill, ended } = startCloister(['run', 'gated', 'wait', '--agents', team], { cwd });
    await fileAppears(join(cwd, 'entered'));
    kill('SIGSTOP');
    expect(await cloisterJson(['resume', 'last', '--take-over'], { cwd })).toMatchObject({
      error: { code: 'run_owned' },
    });
    kill('SIGKILL');
    await ended;
  });
});

test('a workspace whose log and heads were deleted together says that folders of runs are left', async () => {
  const { cwd, older } = await killedRun();
  await cloister(['rebuild', older], { cwd });
  for (const name of ['cloister.db', 'cloister.db-wal', 'cloister.db-shm', 'heads'])
    rmSync(workspace(cwd, name), { recursive: true, force: true });
  for (const args of [['runs'], ['show', 'last'], ['conversations', 'list']]) {
    const { stderr } = await readWithCloister(args, { cwd });
    expect(stderr).toMatch(
      /^warning: \S+ has \d folders? of (?:a run|runs), and its log knows no run: [^\n]*cloister audit --all/mu,
    );
  }
  const plain = await readWithCloister(['audit', '--all'], { cwd });
  const json = await readWithCloister(['audit', '--all', '--json'], { cwd });
  expect([plain.code, json.code]).toEqual([1, 1]);
  expect(plain.stdout).toMatch(/^Audit: 0 runs, there are none in \.\/\.cloister · \d problems?\nworkspace\n/u);
  expect(value(json)).toMatchObject({ ok: false, runs: 0, failed: [] });
  expect(value(json).problems).toContainEqual(expect.objectContaining({ where: `folder runs/${older}` }));
});

test('audit --all audits every run and the workspace', async () => {
  const { cwd, older } = await killedRun();
  const [plain, json] = [
    await readWithCloister(['audit', '--all'], { cwd }),
    await cloisterJson(['audit', '--all'], { cwd }),
  ];
  expect(plain).toMatchObject({ code: 0, stdout: 'Audit: 2 runs, all sound · ok\n' });
  expect(json).toEqual({ ok: true, runs: 2, failed: [], problems: [], leftovers: [] });
  {
    using database = new DatabaseSync(workspace(cwd, 'cloister.db'));
    database.prepare(`UPDATE runs SET spent = NULL WHERE run = ?`).run(older);
  }
  const changed = await readWithCloister(['audit', '--all'], { cwd });
  expect(changed.code).toBe(1);
  expect(changed.stdout).toBe(
    `Audit: 2 runs, 1 with problems · 1 problem\nrun ${older}\n  list-differs list of runs: it says otherwise than the log: spent; rebuild the run: cloister rebuild\n`,
  );
});
