// Conversations and checkpoints in real processes, including killed ones.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileAppears, cloisterJson, cloister, newFolder, nodeNoise, startCloister, team } from './driver.ts';

const inTrip = ['--agents', team, '--conversation', 'trip'];

describe.concurrent('a conversation', () => {
  test('continues in other processes, is shown with the sender of each message, and is stored in its folder', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'go'), '');
    const first = await cloister(['run', 'gated', 'by boat', ...inTrip], { cwd });
    expect(first).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    for (const input of ['by train\n\n', 'by foot']) {
      const chat = await cloister(['chat', 'gated', ...inTrip], { cwd, input });
      expect(chat).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
      expect(chat.stderr).not.toMatch(nodeNoise);
    }
    const { entries, turns } = await cloisterJson(['conversations', 'show', 'trip'], { cwd });
    expect(turns).toBe(3);
    expect(entries.map(({ agent_id, recipient_id, text }: any) => [agent_id, recipient_id, text])).toEqual(
      ['by boat', 'by train', 'by foot'].flatMap((text) => [
        ['person', 'gated', text],
        ['gated', 'person', 'Through the gate.'],
      ]),
    );
    const { stdout: path } = await cloister(['conversations', 'export', 'trip'], { cwd });
    expect(path.trim()).toBe(join(cwd, '.cloister', 'conversations', 'gated', 'trip.json'));
    expect(JSON.parse(readFileSync(path.trim(), 'utf8')).entries).toHaveLength(6);
    const shown = await cloister(['show', 'last', '--window'], { cwd });
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('DIALOG');
  });

  test('list for an unknown agent is an error; for an agent without conversations it is empty', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'go'), '');
    await cloister(['run', 'gated', 'by boat', ...inTrip], { cwd });
    writeFileSync(
      join(cwd, 'scout.ai'),
      '---\ndescription: Scouts.\nusage: Go.\noutput:\n  format: text\n---\nScout.\n',
    );
    for (const what of ['conversations', 'checkpoints']) {
      const unknown = await cloister([what, 'list', '--agent', 'gatde'], { cwd });
      expect(unknown).toMatchObject({ code: 1, stdout: '' });
      expect(unknown.stderr).toMatch(/No agent has that name[^]*"gatde"[^]*Did you mean "gated"\?/u);
      expect(await cloisterJson([what, 'list', '--agent', 'gated'], { cwd })).toHaveLength(1);
      expect(await cloisterJson([what, 'list', '--agent', 'scout'], { cwd })).toEqual([]);
    }
  });

  test('of the default agent needs no agent name, and is stored at the top level, whichever command writes it', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'go'), '');
    const unnamed = await cloister(['run', 'by boat to Köln', ...inTrip], { cwd });
    expect(unnamed).toMatchObject({ code: 4, stdout: '' });
    expect(unnamed.stderr).toMatch(/missing required argument 'agent'[^]*`defaultAgent` in \.ai-agent\.json/u);
    writeFileSync(join(cwd, '.ai-agent.json'), '{ "defaultAgent": "gated" }');
    const first = await cloister(['run', 'by boat to Köln', ...inTrip], { cwd });
    expect(first).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect((await cloister(['chat', ...inTrip], { cwd, input: 'by train\n' })).code).toBe(0);
    const file = join(cwd, '.cloister', 'conversations', 'trip.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ agent: 'gated', turns: 2 });
    const { stdout: path } = await cloister(['conversations', 'export', 'trip'], { cwd });
    expect(path.trim()).toBe(file);
    expect(readdirSync(join(cwd, '.cloister', 'conversations'))).toEqual(['trip.json']);
    writeFileSync(join(cwd, '.ai-agent.json'), '{ "defaultAgent": "a b" }');
    const wrong = await cloister(['chat', ...inTrip], { cwd, input: 'by foot\n' });
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toMatch(/\.ai-agent\.json:1 defaultAgent: .*an agent name/u);
  });

  test('a killed turn is continued by resume, and only then may the next one begin', async () => {
    const cwd = newFolder();
    const { kill, ended } = startCloister(['run', 'gated', 'by boat', ...inTrip], { cwd });
    await fileAppears(join(cwd, 'entered'));
    const meanwhile = await cloister(['run', 'gated', 'by train', ...inTrip], { cwd });
    expect(meanwhile).toMatchObject({ code: 1, stdout: '' });
    expect(meanwhile.stderr).toMatch(/^error: That conversation already has a running turn\./u);
    const deleted = await cloister(['conversations', 'delete', 'trip', '--force'], { cwd });
    expect(deleted.code).toBe(1);
    expect(deleted.stderr).toMatch(/^error: That conversation already has a running turn\./u);
    kill('SIGKILL');
    await ended;
    writeFileSync(join(cwd, 'go'), '');
    const resumed = await cloister(['resume', 'last'], { cwd });
    expect(resumed).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    expect((await cloister(['run', 'gated', 'by train', ...inTrip], { cwd })).code).toBe(0);
    const { entries } = await cloisterJson(['conversations', 'show', 'trip'], { cwd });
    expect(entries.map(({ text }: any) => text)).toEqual([
      'by boat',
      'Through the gate.',
      'by train',
      'Through the gate.',
    ]);
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true, problems: [] });
    expect(await cloisterJson(['replay', 'last', '--agents', team], { cwd })).toMatchObject({
      ok: true,
      differences: [],
    });
  });

  test('deleted without a terminal while another agent refers to it: refused, naming that agent; forced: gone, but restorable until it is purged', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'go'), '');
    await cloister(['run', 'gated', 'by boat', ...inTrip], { cwd });
    expect((await cloister(['conversations', 'attach', 'trip', 'stuck', '--agents', team], { cwd })).code).toBe(0);
    const refused = await cloister(['conversations', 'delete', 'trip'], { cwd });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/That conversation is shared with other agents, or has branches\.[^]*stuck/u);
    expect((await cloister(['conversations', 'delete', 'trip', '--force'], { cwd })).code).toBe(0);
    const gone = await cloister(['run', 'gated', 'by train', ...inTrip], { cwd });
    expect(gone.code).toBe(1);
    expect(gone.stderr).toMatch(/That conversation has been deleted\./u);
    expect((await cloister(['conversations', 'restore', 'trip'], { cwd })).code).toBe(0);
    expect((await cloisterJson(['conversations', 'show', 'trip'], { cwd })).entries).toHaveLength(2);
    expect((await cloister(['conversations', 'delete', 'trip', '--force'], { cwd })).code).toBe(0);
    expect((await cloister(['conversations', 'purge', 'trip'], { cwd })).code).toBe(0);
    expect((await cloister(['conversations', 'restore', 'trip'], { cwd })).code).toBe(1);
    expect(existsSync(join(cwd, '.cloister', 'conversations', 'gated', 'trip.json'))).toBe(false);
  });
});

describe.concurrent('a checkpoint', () => {
  test('taken by another process while the run is running, restored and branched: the windows are the same, the run is left alone', async () => {
    const cwd = newFolder();
    const running = startCloister(['run', 'gated', 'wait', '--agents', team], { cwd });
    await fileAppears(join(cwd, 'entered'));
    const taken = await cloisterJson(['checkpoints', 'create', 'last', '--label', 'at the gate'], { cwd });
    expect(taken).toMatchObject({ agent: 'gated', why: 'asked', label: 'at the gate' });
    writeFileSync(join(cwd, 'go'), '');
    expect(await running.ended).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    const before = await cloisterJson(['audit', taken.run], { cwd });
    const restored = await cloister(['checkpoints', 'restore', taken.id.slice(0, 8), '--agents', team], { cwd });
    expect(restored).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    const branched = await cloister(['checkpoints', 'branch', taken.id, '--agents', team], { cwd });
    expect(branched).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
    const runs = (await cloisterJson(['runs'], { cwd })).map(({ run }: any) => run);
    expect(runs).toHaveLength(3);
    const promptsOf = async (run: string): Promise<string> =>
      JSON.stringify((await cloisterJson(['show', run, '--window'], { cwd })).map(({ parts }: any) => parts));
    for (const run of runs) {
      expect(await cloisterJson(['audit', run], { cwd })).toMatchObject({ ok: true, problems: [] });
      expect(await promptsOf(run)).toBe(await promptsOf(taken.run));
    }
    expect(await cloisterJson(['audit', taken.run], { cwd })).toEqual(before);
    const folder = join(cwd, '.cloister', 'agents', 'gated', 'checkpoints');
    expect(readdirSync(folder).some((name) => name.includes(taken.id))).toBe(true);
    const unknown = await cloister(['checkpoints', 'restore', 'nosuch', '--agents', team], { cwd });
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/^error: There is no such checkpoint\./u);
  });
});
