// Workspaces that earlier builds recorded are shown, audited, replayed and resumed by this one.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { copyFixture, fixtureRuns, openFixture } from '../fixtures/scenarios.ts';

const folder = fileURLToPath(new URL('../fixtures/workspaces/', import.meta.url));
const formats = readdirSync(folder);

const openCopy = async (format: string) => {
  const workspace = newTemporaryFolder();
  copyFixture(join(folder, format), workspace);
  // New ids must not collide with those of the fixture.
  const cloister = await openFixture(workspace, 0x1000);
  onTestFinished(async () => {
    await cloister.close();
    rmSync(workspace, { recursive: true, force: true });
  });
  const runs = (await cloister.runs()).toReversed();
  const named = Object.fromEntries(fixtureRuns.map((name, index) => [name, runs[index]!.run]));
  return { cloister, runs, run: (name: (typeof fixtureRuns)[number]) => named[name]! };
};

describe.for(formats)('a workspace of %s', (format) => {
  test('lists its runs with the format and the build that recorded them', async () => {
    const { runs } = await openCopy(format);
    expect(runs.map(({ agent, state, status }) => [agent, state, status])).toEqual([
      ['lead', 'ended', 'completed'],
      ['team', 'ended', 'partial'],
      ['desk', 'ended', 'completed'],
      ['lead', 'interrupted', null],
      ['lead', 'ended', 'completed'],
      ['lead', 'ended', 'completed'],
    ]);
    for (const { recordedBy } of runs)
      expect(recordedBy).toEqual({ format: Number(format.slice(7)), build: expect.stringMatching(/^cloister \d/u) });
  });

  test.for(fixtureRuns)('the run "%s" is shown, explained, audited and replayed', async (name) => {
    const { cloister, run } = await openCopy(format);
    const report = await cloister.show(run(name));
    expect(report.cells.length).toBeGreaterThan(0);
    for (const { cell } of report.cells) expect((await cloister.explain(run(name), cell)).cell).toBe(cell);
    expect(await cloister.windows(run(name))).toHaveLength(report.cells.length);
    expect(await cloister.audit(run(name))).toMatchObject({ ok: true, problems: [], unattributedBytes: 0 });
    expect(await cloister.replay(run(name))).toMatchObject({ differences: [], ok: true });
  });

  test('its team has its tasks, and its letters their states', async () => {
    const { cloister, run } = await openCopy(format);
    expect((await cloister.tasks(run('team'))).map(({ id, status }) => [id, status])).toEqual([
      ['find', 'completed'],
      ['see', 'completed'],
      ['fail', 'failed'],
      ['after', 'blocked'],
    ]);
    expect((await cloister.show(run('team'))).output).toContain(
      '\nMissing from this answer:\n- Fail (by scout): failed',
    );
    const letters = await cloister.mail(run('mail'));
    expect(letters.filter(({ state }) => state === 'read').length).toBeGreaterThan(3);
  });

  test('its interrupted run is resumed to its end, and every prefix of the log stays', async () => {
    const { cloister, run } = await openCopy(format);
    const before = await cloister.show(run('interrupted'));
    const session = await cloister.resume(run('interrupted'));
    expect(await session.outcome).toMatchObject({ status: 'completed', output: 'In short: tea.' });
    const after = await cloister.show(run('interrupted'));
    expect(after.events.slice(0, before.events.length)).toEqual(before.events);
    expect(after.recordedBy).toEqual(before.recordedBy);
    expect(await cloister.audit(run('interrupted'))).toMatchObject({ ok: true, problems: [] });
    expect(await cloister.replay(run('interrupted'))).toMatchObject({ differences: [], ok: true });
  });

  test('its conversation is continued, and its checkpoint branched', async () => {
    const { cloister } = await openCopy(format);
    const tea = { agent: 'lead', name: 'tea' };
    expect((await cloister.conversations.show(tea)).entries.map(({ text }) => text)).toEqual([
      'Hello',
      'In short: tea.',
      'And now?',
      'In short: tea.',
    ]);
    const next = await cloister.runTurn('lead', 'More', { conversation: 'tea' });
    expect(await next.outcome).toMatchObject({ status: 'completed' });
    expect(await cloister.audit(next.run)).toMatchObject({ ok: true });
    const checkpoint = (await cloister.checkpoints.list()).find(({ label }) => label === 'after hello');
    await cloister.checkpoints.branch(checkpoint!.id, { name: 'cocoa' });
    expect((await cloister.conversations.show({ agent: 'lead', name: 'cocoa' })).entries).toHaveLength(2);
  });
});
