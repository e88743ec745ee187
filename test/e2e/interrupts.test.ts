import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { appears, asked, cloister, newFolder, nodeNoise, script, startCloister, team, value } from './driver.ts';

/** A run that waits in a tool: `gated` comes back when called, `stuck` never does. */
const startWaiting = async (agent: 'gated' | 'stuck', more: readonly string[] = []) => {
  const cwd = newFolder();
  const started = startCloister(['run', agent, 'wait', '--agents', team, ...more], { cwd });
  await appears(join(cwd, 'entered'));
  return { ...started, cwd, effects: () => readFileSync(join(cwd, 'effects'), 'utf8') };
};

/** Two signals within 100 ms count as one key. */
const anotherKey = () => passed(150);

describe.concurrent('a signal', () => {
  const once = [
    ['SIGINT', 'gated'],
    ['SIGTERM', 'gated'],
    ['SIGINT', 'stuck'],
    ['SIGTERM', 'stuck'],
  ] as const;
  test.each(once)('%s once stops %s in order: a partial answer, the record whole, exit 130', async (signal, agent) => {
    const { cwd, kill, ended } = await startWaiting(agent);
    kill(signal);
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: 'Half of the answer.\n' });
    expect(stderr).toContain('stopping… (Ctrl-C again to stop at once)');
    expect(stderr).toMatch(/^total +cancelled/mu);
    expect(stderr).not.toMatch(nodeNoise);
    expect(await asked(['show', 'last'], { cwd })).toMatchObject({
      status: 'cancelled',
      output: 'Half of the answer.',
    });
    expect(await asked(['runs'], { cwd })).toMatchObject([{ state: 'ended', status: 'cancelled', owner: null }]);
    expect(await asked(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  });

  test('one key that arrives as two signals stops in order too', async () => {
    const { cwd, kill, ended } = await startWaiting('gated');
    kill('SIGINT');
    kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 130, stdout: 'Half of the answer.\n' });
    expect(await asked(['runs'], { cwd })).toMatchObject([{ status: 'cancelled' }]);
  });

  test('with --json once still gives the one value', async () => {
    const { kill, ended } = await startWaiting('gated', ['--json']);
    kill('SIGINT');
    const told = await ended;
    expect(told.code).toBe(130);
    expect(value(told)).toMatchObject({
      status: 'cancelled',
      output: 'Half of the answer.',
      error: { code: 'cancelled' },
    });
  });

  const twice = [
    ['SIGINT', []],
    ['SIGTERM', []],
    ['SIGINT', ['--json']],
  ] as const;
  test.each(twice)('%s twice ends it at once, even when nothing else would %j', async (signal, more) => {
    const cwd = newFolder();
    // Its import never ends, so there is nothing that could stop in order.
    writeFileSync(join(cwd, 'endless.ts'), endlessImport);
    const { kill, said, ended } = startCloister(['run', 'x', 'y', '--agents', './endless.ts', ...more], { cwd });
    await appears(join(cwd, 'entered'));
    kill(signal);
    await said(/stopping…/u);
    await anotherKey();
    kill(signal);
    const told = await ended;
    expect(told.code).toBe(130);
    expect(told.stderr).not.toMatch(nodeNoise);
    if (more.length > 0) expect(value(told).error.code).toBe('cancelled');
    else expect(told.stderr).toContain('error: It was cancelled.');
  });

  test('twice ends a run whose tool blocks the way out, and the run can be looked at', async () => {
    const { cwd, kill, said, ended } = await startWaiting('stuck');
    kill('SIGINT');
    await said(/stopping…/u);
    await anotherKey();
    kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect((await cloister(['show', 'last'], { cwd })).code).toBe(0);
    expect(await asked(['audit', 'last'], { cwd })).toMatchObject({ ok: true });
  });

  test('SIGKILL leaves an interrupted run that resume takes to the end, no settled effect twice', async () => {
    const { cwd, kill, ended, effects } = await startWaiting('gated');
    kill('SIGKILL');
    expect((await ended).code).toBe(null);
    const [found] = await asked(['runs'], { cwd });
    expect(found).toMatchObject({ state: 'interrupted', status: null, owner: null });
    const [listed, shown, audited] = await Promise.all([
      cloister(['runs'], { cwd }),
      asked(['show', 'last'], { cwd }),
      asked(['audit', 'last'], { cwd }),
    ]);
    expect(listed.stdout).toContain('◌ interrupted');
    expect(shown.status).toBe('interrupted');
    expect(audited).toMatchObject({ ok: true, problems: [] });
    expect(effects()).toBe('before\nat the gate\n');

    writeFileSync(join(cwd, 'go'), '');
    const resumed = await script('resume.ts', ['.cloister', found.run], { cwd });
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    expect(value(resumed)).toEqual({ status: 'completed', output: 'Through the gate.' });
    // The gate was under way and may be repeated; the note before it had settled.
    expect(effects()).toBe('before\nat the gate\nat the gate\nafter\n');
    expect(await asked(['runs'], { cwd })).toMatchObject([{ run: found.run, state: 'ended', status: 'completed' }]);
    expect(await asked(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  });

  test('SIGKILL in a tool that may not be repeated: resume does not call it again', async () => {
    const { cwd, kill, ended } = await startWaiting('stuck');
    kill('SIGKILL');
    await ended;
    const [{ run }] = await asked(['runs'], { cwd });
    const resumed = value(await script('resume.ts', ['.cloister', run], { cwd }));
    // `hang` may not be repeated: the model is told that nobody knows, and answers.
    expect(resumed).toEqual({ status: 'completed', output: 'Unstuck.' });
    // The kill may have come between making the file and writing its line.
    expect(readFileSync(join(cwd, 'entered'), 'utf8')).toMatch(/^(?:entered\n)?$/u);
    expect(await asked(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
  });
});

const endlessImport = `
  import { writeFileSync } from 'node:fs';
  setInterval(() => {}, 1000);
  writeFileSync('entered', '');
  await new Promise(() => {});
  export default [];`;
