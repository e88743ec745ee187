import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  fileAppears,
  cloisterJson,
  cloister,
  newFolder,
  nodeNoise,
  pressUntil,
  script,
  startCloister,
  team,
  value,
} from './driver.ts';

/** A run that waits in a tool: `gated` returns when released, `stuck` never does. */
const startWaiting = async (agent: 'gated' | 'stuck', more: readonly string[] = []) => {
  const cwd = newFolder();
  const started = startCloister(['run', agent, 'wait', '--agents', team, ...more], { cwd });
  await fileAppears(join(cwd, 'entered'));
  return { ...started, cwd, effects: () => readFileSync(join(cwd, 'effects'), 'utf8') };
};

describe.concurrent('a signal', () => {
  const once = [
    ['SIGINT', 'gated'],
    ['SIGTERM', 'gated'],
    ['SIGINT', 'stuck'],
    ['SIGTERM', 'stuck'],
  ] as const;
  test.each(once)(
    '%s once stops %s in an orderly way: no answer, a complete record, exit 130',
    async (signal, agent) => {
      const { cwd, kill, ended } = await startWaiting(agent);
      kill(signal);
      const { code, stdout, stderr } = await ended;
      expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
      expect(stderr).toContain('stopping… (Ctrl-C again to stop immediately)');
      expect(stderr).toMatch(/^total +cancelled/mu);
      expect(stderr).not.toMatch(nodeNoise);
      expect(await cloisterJson(['show', 'last'], { cwd })).toMatchObject({
        status: 'cancelled',
        output: '',
      });
      expect(await cloisterJson(['runs'], { cwd })).toMatchObject([
        { state: 'ended', status: 'cancelled', owner: null },
      ]);
      expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
    },
  );

  test('one key press that arrives as two signals also stops in an orderly way', async () => {
    const { cwd, kill, ended } = await startWaiting('gated');
    kill('SIGINT');
    kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 130, stdout: '' });
    expect(await cloisterJson(['runs'], { cwd })).toMatchObject([{ status: 'cancelled' }]);
  });

  test('once with --json still prints the one value', async () => {
    const { kill, ended } = await startWaiting('gated', ['--json']);
    kill('SIGINT');
    const result = await ended;
    expect(result.code).toBe(130);
    expect(value(result)).toMatchObject({
      status: 'cancelled',
      output: '',
      error: { code: 'cancelled' },
    });
  });

  const twice = [
    ['SIGINT', []],
    ['SIGTERM', []],
    ['SIGINT', ['--json']],
  ] as const;
  test.each(twice)('%s twice exits immediately, even when nothing else would stop it (%j)', async (signal, more) => {
    const cwd = newFolder();
    // Its import never finishes, so there is nothing that could stop in an orderly way.
    writeFileSync(join(cwd, 'endless.ts'), endlessImport);
    const { kill, printed, ended } = startCloister(['run', 'x', 'y', '--agents', './endless.ts', ...more], { cwd });
    await fileAppears(join(cwd, 'entered'));
    kill(signal);
    await printed(/stopping…/u);
    const result = await pressUntil(ended, () => kill(signal));
    expect(result.code).toBe(130);
    expect(result.stderr).not.toMatch(nodeNoise);
    if (more.length > 0) expect(value(result).error.code).toBe('cancelled');
    else expect(result.stderr).toContain('error: The operation was cancelled.');
  });

  test('twice ends a run whose tool blocks the shutdown, and the run can be inspected', async () => {
    const { cwd, kill, printed: said, ended } = await startWaiting('stuck');
    kill('SIGINT');
    await said(/stopping…/u);
    expect((await pressUntil(ended, () => kill('SIGINT'))).code).toBe(130);
    expect((await cloister(['show', 'last'], { cwd })).code).toBe(0);
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true });
  });

  test('SIGKILL leaves an interrupted run that resume completes without repeating a settled effect', async () => {
    const { cwd, kill, ended, effects } = await startWaiting('gated');
    kill('SIGKILL');
    expect((await ended).code).toBe(null);
    const [found] = await cloisterJson(['runs'], { cwd });
    expect(found).toMatchObject({ state: 'interrupted', status: null, owner: null });
    const [listed, shown, audited] = await Promise.all([
      cloister(['runs'], { cwd }),
      cloisterJson(['show', 'last'], { cwd }),
      cloisterJson(['audit', 'last'], { cwd }),
    ]);
    expect(listed.stdout).toContain('◌ interrupted');
    expect(shown.status).toBe('interrupted');
    expect(audited).toMatchObject({ ok: true, problems: [] });
    expect(effects()).toBe('before\nat the gate\n');

    writeFileSync(join(cwd, 'go'), '');
    const resumed = await script('resume.ts', ['.cloister', found.run], { cwd });
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    expect(value(resumed)).toEqual({ status: 'completed', output: 'Through the gate.' });
    // The gate was in flight and may be repeated; the note before it had settled.
    expect(effects()).toBe('before\nat the gate\nat the gate\nafter\n');
    expect(await cloisterJson(['runs'], { cwd })).toMatchObject([
      { run: found.run, state: 'ended', status: 'completed' },
    ]);
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  });

  test('SIGKILL in a tool that may not be repeated: resume does not call it again', async () => {
    const { cwd, kill, ended } = await startWaiting('stuck');
    kill('SIGKILL');
    await ended;
    const [{ run }] = await cloisterJson(['runs'], { cwd });
    const resumed = value(await script('resume.ts', ['.cloister', run], { cwd }));
    // `hang` may not be repeated: the model is told that the outcome is unknown, and answers.
    expect(resumed).toEqual({ status: 'completed', output: 'Unstuck.' });
    // The kill may have come between creating the file and writing its line.
    expect(readFileSync(join(cwd, 'entered'), 'utf8')).toMatch(/^(?:entered\n)?$/u);
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  });
});

const endlessImport = `
  import { writeFileSync } from 'node:fs';
  setInterval(() => {}, 1000);
  writeFileSync('entered', '');
  await new Promise(() => {});
  export default [];`;
