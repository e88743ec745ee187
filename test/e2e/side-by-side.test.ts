import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileAppears, cloisterJson, cloister, newFolder, script, startCloister, team, value } from './driver.ts';

const startGated = async (cwd: string, workspace: string) => {
  const started = startCloister(['run', 'gated', 'wait', '--agents', team, '--workspace', workspace], { cwd });
  await fileAppears(join(cwd, 'entered'));
  return started;
};
const openGate = (cwd: string) => writeFileSync(join(cwd, 'go'), '');

describe.concurrent('while a run is running', () => {
  test('other processes list, show, explain and audit it, and run beside it', async () => {
    const [cwd, workspace] = [newFolder(), newFolder()];
    const gated = await startGated(cwd, workspace);
    const where = ['--workspace', workspace];

    const [runs, shown, listed, explained, audited, beside] = await Promise.all([
      cloisterJson(['runs', ...where]),
      cloisterJson(['show', 'last', ...where]),
      cloister(['runs', ...where]),
      cloister(['explain', 'last', 'gated', '--find', 'noted before', ...where]),
      cloisterJson(['audit', 'last', ...where]),
      cloister(['demo', '--json', '--workspace', newFolder()]),
    ]);
    expect(runs).toMatchObject([{ agent: 'gated', state: 'running', status: null }]);
    expect(runs[0].owner).toContain(`process ${gated.pid} `);
    expect(shown).toMatchObject({ status: 'running', cells: [{ agent: 'gated', status: null }] });
    expect(listed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('● running') });
    expect(explained).toMatchObject({ code: 0, stderr: '' });
    expect(audited).toMatchObject({ ok: true, problems: [], unattributedBytes: 0 });
    expect(beside.code).toBe(0);

    const echo = await cloister(['run', 'echo', 'beside', '--agents', team, ...where]);
    expect(echo).toMatchObject({ code: 0, stdout: 'You said: beside\n' });
    expect((await cloisterJson(['runs', ...where])).map(({ state }: any) => state)).toEqual(['ended', 'running']);

    openGate(cwd);
    expect(await gated.ended).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect((await cloisterJson(['runs', ...where])).map(({ state }: any) => state)).toEqual(['ended', 'ended']);
  });

  test('two processes create one new workspace at the same time; both runs complete and pass the audit', async () => {
    const workspace = newFolder();
    const cwds = [newFolder(), newFolder()];
    const gated = await Promise.all(cwds.map((cwd) => startGated(cwd, workspace)));
    const running = await cloisterJson(['runs', '--workspace', workspace]);
    expect(running.map(({ state }: any) => state)).toEqual(['running', 'running']);
    for (const cwd of cwds) openGate(cwd);
    for (const one of gated) expect((await one.ended).code).toBe(0);
    for (const { run } of running)
      expect(await cloisterJson(['audit', run, '--workspace', workspace])).toMatchObject({ ok: true, problems: [] });
    for (const cwd of cwds) expect(readFileSync(join(cwd, 'effects'), 'utf8')).toBe('before\nat the gate\nafter\n');
  });

  test('another process that tries to resume it is told who has it, and the run continues', async () => {
    const [cwd, workspace] = [newFolder(), newFolder()];
    const gated = await startGated(cwd, workspace);
    const [{ run }] = await cloisterJson(['runs', '--workspace', workspace]);
    const refused = value(await script('resume.ts', [workspace, run], { cwd: newFolder() }));
    expect(refused.code).toBe('run_owned');
    expect(refused.message).toContain(`process ${gated.pid} `);

    openGate(cwd);
    expect((await gated.ended).code).toBe(0);
    expect(readFileSync(join(cwd, 'effects'), 'utf8')).toBe('before\nat the gate\nafter\n');
    const ended = value(await script('resume.ts', [workspace, run], { cwd: newFolder() }));
    expect(ended.code).toBe('run_ended');
    expect(await cloisterJson(['audit', run, '--workspace', workspace])).toMatchObject({ ok: true });
  });
});
