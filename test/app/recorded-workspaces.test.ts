// Workspaces that earlier builds recorded are shown, audited, replayed and resumed by this one.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { migrateWorkspace } from '#adapters/stores';
import { recordFormats } from '#base';
import type { BeginKind, CrossingKind, FrameRecord, IndeterminatePolicy } from '#contracts';
import { rules } from '#core/rules';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import {
  answerPayments,
  copyFixture,
  fixtureFrames,
  fixtureRuns,
  openFixture,
  recordAgain,
  sequentialRuns,
} from '../fixtures/scenarios.ts';
import type { FixtureRun } from '../fixtures/scenarios.ts';

const folder = fileURLToPath(new URL('../fixtures/workspaces/', import.meta.url));
const formats = readdirSync(folder);

const openCopy = async (format: string, indeterminate: IndeterminatePolicy = 'continue') => {
  const workspace = newTemporaryFolder();
  copyFixture(join(folder, format), workspace);
  // New ids must not collide with those of the fixture.
  const cloister = await openFixture(workspace, { idsFrom: 0x1000, indeterminate });
  onTestFinished(async () => {
    await cloister.close();
    rmSync(workspace, { recursive: true, force: true });
  });
  const runs = (await cloister.runs()).toReversed();
  const named = new Map(fixtureRuns(formatNumber(format)).map((name, index) => [name, runs[index]!.run]));
  return { cloister, runs, run: (name: FixtureRun) => named.get(name)! };
};

const formatNumber = (format: string): number => Number(format.slice('format-'.length));

describe.for(formats)('a workspace of %s', (format) => {
  // invariant: format-in-first-record
  test('lists its runs with the format and the build that recorded them', async () => {
    const { runs } = await openCopy(format);
    const open = ['lead', 'frail', ...(fixtureRuns(formatNumber(format)).includes('payment killed') ? ['buyer'] : [])];
    expect(runs.filter(({ state }) => state !== 'ended').map(({ agent }) => agent)).toEqual(open);
    expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['completed', 'partial', 'cancelled', null]));
    for (const { recordedBy } of runs)
      expect(recordedBy).toEqual({ format: formatNumber(format), build: expect.stringMatching(/^cloister \d/u) });
  });

  test.for(fixtureRuns(formatNumber(format)))(
    'the run "%s" is shown, explained, audited and replayed',
    async (name) => {
      const { cloister, run } = await openCopy(format);
      const report = await cloister.show(run(name));
      expect(report.cells.length).toBeGreaterThan(0);
      for (const { cell } of report.cells) expect((await cloister.explain(run(name), cell)).cell).toBe(cell);
      expect(await cloister.windows(run(name))).toHaveLength(report.cells.length);
      expect(await cloister.audit(run(name))).toMatchObject({ ok: true, problems: [], unattributedBytes: 0 });
      expect(await cloister.replay(run(name))).toMatchObject({ differences: [], ok: true });
    },
  );

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

  test.for([
    ['interrupted', 'In short: tea.'],
    ['killed', 'It went on.'],
  ] as const)('its run "%s" is resumed to its end, and every prefix of the log stays', async ([name, output]) => {
    const { cloister, run } = await openCopy(format);
    const before = await cloister.show(run(name));
    const session = await cloister.resume(run(name));
    expect(await session.outcome).toMatchObject({ status: 'completed', output });
    const after = await cloister.show(run(name));
    expect(after.events.slice(0, before.events.length)).toEqual(before.events);
    expect(after.recordedBy).toEqual(before.recordedBy);
    expect(await cloister.audit(run(name))).toMatchObject({ ok: true, problems: [] });
    expect(await cloister.replay(run(name))).toMatchObject({ differences: [], ok: true });
  });

  test('its agent’s files are there in the next turn of their conversation', async () => {
    const { cloister } = await openCopy(format);
    const next = await cloister.runTurn('writer', 'What is there?', { conversation: 'notes' });
    expect(await next.outcome).toMatchObject({ status: 'completed', output: 'A file about tea.' });
    expect(await cloister.audit(next.run)).toMatchObject({ ok: true, problems: [] });
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

describe.for(formats.filter((format) => fixtureRuns(formatNumber(format)).includes('payment killed')))(
  'in %s, a payment that a crash has interrupted',
  (format) => {
    test('is recorded with the policy by which it was resumed, and what became of it', async () => {
      const { cloister, run } = await openCopy(format);
      const policies = fixtureFrames(join(folder, format)).flatMap(({ run: of, record }) =>
        record.type === 'resume' ? [[of as string, record.indeterminate]] : [],
      );
      expect(policies).toContainEqual([run('payment unknown'), undefined]);
      expect(policies).toContainEqual([run('payment asked'), 'ask']);
      expect(policies).toContainEqual([run('payment failed'), 'fail']);
      const asked = await cloister.questions({ run: run('payment asked'), all: true });
      expect(asked.map(({ args, state, indeterminate }) => [args['what'], state, indeterminate])).toEqual([
        ['tea', 'allowed', true],
        ['milk', 'denied', true],
      ]);
      const { cells } = await cloister.show(run('payment failed'));
      expect(cells.map(({ agent, outcome }) => [agent, outcome?.failure?.code])).toContainEqual([
        'payer',
        'indeterminate',
      ]);
    });

    test('is beside a run whose later turns began with the provider that answers', async () => {
      const { cloister, run } = await openCopy(format);
      const { events } = await cloister.show(run('failing provider'));
      const asked = events.flatMap((event) => (event.type === 'model-start' ? [event.model.split('/')[0]] : []));
      expect(asked).toEqual(['down', 'up', 'up', 'up']);
    });

    test.for([
      ['continue', 'completed'],
      ['ask', 'completed'],
      ['fail', 'failed'],
    ] as const)('is resumed by the policy "%s"', async ([policy, payer]) => {
      const { cloister, run } = await openCopy(format, policy);
      const session = answerPayments(await cloister.resume(run('payment killed')));
      expect((await session.outcome).output).toContain(`Result from payer (status: ${payer}).`);
      const asked = await cloister.questions({ run: session.run, all: true });
      expect(asked.map(({ state }) => state)).toEqual(policy === 'ask' ? ['allowed', 'denied'] : []);
      expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
      expect(await cloister.replay(session.run)).toMatchObject({ differences: [], ok: true });
    });
  },
);

test('a workspace of the first kept format is migrated, and every run in it is what it was', async () => {
  const [first] = formats;
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  copyFixture(join(folder, first!), workspace);
  const before = fixtureFrames(workspace);
  const sizeOf = (): number => statSync(join(workspace, 'cloister.db')).size;
  const size = sizeOf();
  await migrateWorkspace(workspace, { build: 'test' });
  expect(fixtureFrames(workspace)).toEqual(before);
  expect(sizeOf()).toBeLessThan(size / 2);
  await using cloister = await openFixture(workspace, { idsFrom: 0x1000 });
  for (const { run } of await cloister.runs())
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
});

const newest = `format-${recordFormats.newest}`;

test('the newest workspace uses every rule, every kind of record and every kind of crossing', () => {
  const seen = { rules: new Set<string>(), records: new Set<string>(), crossings: new Set<string>() };
  for (const { record, contents = [], ...frame } of fixtureFrames(join(folder, newest))) {
    seen.records.add(record.type === 'begin' ? `begin ${record.do}` : record.type);
    for (const { kind } of contents) seen.crossings.add(kind);
    for (const [name] of JSON.stringify(frame).matchAll(/(?<="rule":")[^"]+/gu)) seen.rules.add(name);
  }
  expect(Object.keys(rules).filter((name) => !seen.rules.has(name))).toEqual([]);
  expect([...seen.records].toSorted()).toEqual(Object.keys(recordKinds).toSorted());
  expect([...seen.crossings].toSorted()).toEqual(Object.keys(crossingKinds).toSorted());
});

test.for(sequentialRuns)('the run "%s" is recorded as it was, byte for byte', async (name) => {
  const { run } = await openCopy(newest);
  const was = fixtureFrames(join(folder, newest), run(name));
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  await recordAgain(workspace, name, { idsFrom: Number.parseInt(was[0]!.run, 16) - 1, at: was[0]!.at });
  expect(fixtureFrames(workspace)).toEqual(was);
});

/** A new one does not compile before it is listed here, and is then missing from the workspace. */
const recordKinds: Readonly<Record<Exclude<FrameRecord['type'], 'begin'> | `begin ${BeginKind}`, true>> = {
  open: true,
  'begin step': true,
  'begin child': true,
  'begin sleep': true,
  'begin receive': true,
  'begin ask': true,
  ruling: true,
  settle: true,
  held: true,
  again: true,
  resume: true,
  fork: true,
  give: true,
  post: true,
  mail: true,
  delivered: true,
  cancel: true,
  close: true,
};
const crossingKinds: Readonly<Record<CrossingKind, true>> = {
  goal: true,
  result: true,
  share: true,
  dependency: true,
  message: true,
  broadcast: true,
  note: true,
  file: true,
  attachment: true,
  answer: true,
  tools: true,
  history: true,
};
