// Replayed runs, and runs that take a different course from an operation on.
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Budget, Cloister, DurableEvent } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const team = () => {
  const lead = rehearse(
    [
      {
        when: { agent: 'lead', turn: 1 },
        reply: {
          calls: [
            { tool: 'count', args: {} },
            { tool: 'scout', args: { prompt: 'Look north' } },
            { tool: 'write_file', args: { path: 'plan.md', content: 'first the north' } },
          ],
        },
      },
      { when: { agent: 'lead', turn: 2 }, reply: { calls: [{ tool: 'scout', args: { prompt: 'Look south' } }] } },
      { when: { agent: 'lead', turn: 3 }, reply: { calls: [{ tool: 'read_file', args: { path: 'plan.md' } }] } },
      { when: { agent: 'lead' }, reply: { text: 'In all: {{results}}' } },
      { when: { agent: 'scout', turn: 1 }, reply: { calls: [{ tool: 'count', args: {} }] } },
      { when: { agent: 'scout' }, reply: { text: '{{goal}}: {{results}}' } },
    ],
    { modelId: 'one' },
  );
  const other = rehearse([{ reply: { text: 'The other model says {{goal}}' } }], { modelId: 'other' });
  let counted = 0;
  const count = {
    name: 'count',
    description: 'Counts.',
    inputSchema: { type: 'object' },
    execute: () => `count ${++counted}`,
  };
  const scout = defineAgent({
    name: 'scout',
    description: 'Looks',
    prompt: 'Look.',
    models: [lead],
    tools: [count],
  });
  const agent = defineAgent({
    name: 'lead',
    description: 'Leads',
    prompt: 'Lead.',
    models: [lead],
    agents: [scout],
    tools: [count, 'write_file', 'read_file'],
  });
  return { agent, other, counts: () => counted, requests: () => lead.requests.length + other.requests.length };
};

const recorded = async () => {
  const parts = team();
  const cloister = await openCloister({ store: 'memory', agents: [parts.agent], models: [parts.other] });
  const outcome = await cloister.run('lead', 'Look around').outcome;
  expect(outcome.status).toBe('completed');
  return { ...parts, cloister, run: outcome.run, outcome };
};

/** The answers of its scouts. */
const answers = async (cloister: Cloister, run: string): Promise<readonly (string | undefined)[]> =>
  (await cloister.show(run)).cells.filter(({ agent }) => agent === 'scout').map(({ outcome }) => outcome?.output);

const operationStarts = async (cloister: Cloister, run: string): Promise<readonly (DurableEvent & { op: number })[]> =>
  (await cloister.show(run)).events.filter(
    (event): event is DurableEvent & { op: number } => 'op' in event && event.type.endsWith('-start'),
  );

describe('replay', () => {
  // invariant: replay-touches-nothing
  test('produces the same records, events and outcome without asking a model or a tool', async () => {
    const { cloister, run, outcome, counts, requests } = await recorded();
    const before = [counts(), requests()];
    const report = await cloister.replay(run);
    const { run: _run, cell: _cell, ...same } = outcome;
    expect(report.differences).toEqual([]);
    expect(report).toMatchObject({ ok: true, outcome: same });
    expect(report.events).toEqual((await cloister.show(run)).events);
    expect([counts(), requests()]).toEqual(before);
  });

  // invariants: replay-decides-again, replay-deviation-stays-local
  test('reports what today’s agents would do differently, and where', async () => {
    await using workspace = await temporaryFolder();
    const { agent } = team();
    const run = await withCloister(
      workspace.path,
      [agent],
      async (cloister) => cloister.run('lead', 'Look around').outcome,
    );
    const {
      resources: { models, tools, builtins },
      children: { agents },
    } = agent;
    const changed = defineAgent({
      name: 'lead',
      description: 'Leads',
      prompt: 'Lead well.',
      models,
      agents,
      tools: [...tools, ...builtins],
    });
    const report = await withCloister(workspace.path, [changed], (cloister) => cloister.replay(run.run));
    expect(report.ok).toBe(false);
    expect(report.differences[0]).toMatchObject({
      frame: 0,
      agent: 'lead',
      what: 'its definition has changed: prompt',
    });
    expect(report.differences.map(({ what }) => what)).toContain('its model would be shown a different prompt');
    expect(report.outcome?.output).toBe(run.output);
    expect(report.hash.replayed).not.toBe(report.hash.recorded);
  });
});

const withCloister = async <T>(
  workspace: string,
  agents: readonly Agent[],
  work: (cloister: Cloister) => Promise<T>,
): Promise<T> => {
  await using cloister = await openCloister({ workspace, agents });
  return work(cloister);
};

describe('fork', () => {
  // invariant: fork-keeps-prefix
  test('keeps everything before the operation, and repeats none of it', async () => {
    const { cloister, run, outcome, counts } = await recorded();
    const last = (await operationStarts(cloister, run)).findLast(
      ({ type, agent }) => type === 'model-start' && agent === 'lead',
    )!;
    const before = counts();
    const fork = await cloister.fork(run, { at: `${last.cell}/${last.op}` });
    const forked = await fork.outcome;
    expect(counts()).toBe(before);
    expect(forked.output).toBe(outcome.output);
    expect((await cloister.audit(forked.run)).problems).toEqual([]);
    expect((await cloister.replay(forked.run)).differences).toEqual([]);
    expect((await cloister.audit(run)).ok).toBe(true);
    expect((await cloister.diff(run, forked.run)).fork).toMatchObject({ run: forked.run, from: { run } });
  });

  test('every operation of a run can be forked at, and the fork audits, replays and ends', async () => {
    const { cloister, run, outcome } = await recorded();
    for (const { cell, op } of await operationStarts(cloister, run)) {
      const forked = await (await cloister.fork(run, { at: `${cell}/${op}` })).outcome;
      expect(forked.status, `${cell}/${op}`).toBe('completed');
      expect((await cloister.audit(forked.run)).problems, `${cell}/${op}`).toEqual([]);
      expect((await cloister.replay(forked.run)).differences, `${cell}/${op}`).toEqual([]);
      expect(forked.output.replaceAll(/count \d+/gu, 'count'), `${cell}/${op}`).toBe(
        outcome.output.replaceAll(/count \d+/gu, 'count'),
      );
    }
  });

  // invariant: fork-keeps-definitions
  test('with another model, the agent asks that one from there on', async () => {
    const { cloister, run } = await recorded();
    const child = (await operationStarts(cloister, run)).findLast(({ type }) => type === 'child-start')!;
    const forked = await (
      await cloister.fork(run, { at: `${child.cell}/${child.op}`, model: 'rehearsal/other' })
    ).outcome;
    expect(forked.output).toContain('In all:');
    const report = await cloister.show(forked.run);
    expect(report.cells.filter(({ agent }) => agent === 'scout').map(({ models }) => models)).toEqual([
      ['rehearsal/one'],
      ['rehearsal/other'],
    ]);
    expect((await cloister.audit(forked.run)).problems).toEqual([]);
    expect((await cloister.replay(forked.run)).differences).toEqual([]);
  });

  test('without a grant, the answer does not cross, and the ledger says so', async () => {
    const { cloister, run } = await recorded();
    const cell = (await cloister.show(run)).cells.find(({ agent }) => agent === 'scout')!.cell;
    const forked = await (await cloister.fork(run, { at: cell, withoutGrants: ['result'] })).outcome;
    expect(forked.missing).toEqual(['scout']);
    const audit = await cloister.audit(forked.run);
    expect(audit).toMatchObject({ ok: true, refused: 2 });
    expect((await cloister.replay(forked.run)).differences).toEqual([]);
  });

  test('with another goal, the child gets that goal instead, at its creation or at the run’s', async () => {
    const { cloister, run, agent } = await recorded();
    const report = await cloister.show(run);
    const scout = report.cells.find((one) => one.agent === 'scout')!.cell;
    const forked = await (await cloister.fork(run, { at: scout, goal: 'Look up' })).outcome;
    expect(await answers(cloister, forked.run)).toEqual([
      expect.stringContaining('Look up: count'),
      expect.stringContaining('Look south'),
    ]);
    expect((await cloister.audit(forked.run)).problems).toEqual([]);
    expect((await cloister.replay(forked.run)).differences).toEqual([]);
    const root = report.cells.find((one) => one.agent === agent.name)!.cell;
    const anew = await (await cloister.fork(run, { at: root, goal: 'Something else' })).outcome;
    expect((await cloister.show(anew.run)).goal).toBe('Something else');
    expect((await cloister.audit(anew.run)).problems).toEqual([]);
    expect((await cloister.replay(anew.run)).differences).toEqual([]);
  });

  test('with another budget, the whole run is done again within it, and what it does not name stays', async () => {
    const { cloister, run } = await recorded();
    const [root, child] = (await cloister.show(run)).cells.map(({ cell }) => cell);
    const first = await (await cloister.fork(run, { at: root!, budget: { tokens: 90_000, ms: 60_000 } })).outcome;
    expect(first.status).toBe('completed');
    const tighter = await (await cloister.fork(first.run, { at: root!, budget: { tokens: 40 } })).outcome;
    expect(tighter).toMatchObject({ status: 'budget', failure: { code: 'budget_refused' } });
    const budgets = await Promise.all(
      [run, first.run, tighter.run].map(async (one) => (await cloister.show(one)).budget),
    );
    expect(budgets).toEqual([null, { tokens: 90_000, ms: 60_000 }, { tokens: 40, ms: 60_000 }]);
    for (const one of [first.run, tighter.run]) {
      expect((await cloister.audit(one)).problems).toEqual([]);
      expect((await cloister.replay(one)).differences).toEqual([]);
    }
    const { fork, same } = await cloister.diff(run, first.run);
    expect([fork?.budget, same]).toEqual([{ tokens: 90_000, ms: 60_000 }, false]);
    expect((await cloister.diff(tighter.run, first.run)).fork).toMatchObject({ budget: { tokens: 40, ms: 60_000 } });
    // Elsewhere, what is kept was done within the budget of its run.
    for (const at of [child!, `${root!}/0`])
      await expect(cloister.fork(run, { at, budget: { tokens: 9 } })).rejects.toMatchObject({ code: 'fork_invalid' });
    await expect(cloister.fork(run, { at: root!, budget: { usd: 1 } })).rejects.toMatchObject({
      code: 'model_unpriced',
    });
    for (const budget of [{ tokens: -1 }, { tokens: Number.NaN }, { coins: 1 }] as Budget[])
      await expect(cloister.fork(run, { at: root!, budget })).rejects.toMatchObject({ code: 'budget_invalid' });
  });

  test('a fork of a fork keeps both changes', async () => {
    const { cloister, run } = await recorded();
    const scouts = (await cloister.show(run)).cells.filter(({ agent }) => agent === 'scout');
    const one = await (await cloister.fork(run, { at: scouts[0]!.cell, goal: 'Look up' })).outcome;
    const south = (await cloister.show(one.run)).cells.findLast(({ agent }) => agent === 'scout')!;
    const two = await (await cloister.fork(one.run, { at: south.cell, model: 'rehearsal/other' })).outcome;
    expect((await answers(cloister, two.run))[0]).toContain('Look up: count');
    const models = (await cloister.show(two.run)).cells.map((cell) => cell.models.join());
    expect(models).toEqual(['rehearsal/one', 'rehearsal/one', 'rehearsal/other']);
    expect((await cloister.audit(two.run)).problems).toEqual([]);
    expect((await cloister.replay(two.run)).differences).toEqual([]);
  });

  test('calls of a fork have idempotency keys of their own, and so do those of its forks', async () => {
    const keys: string[] = [];
    const model = rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'pay', args: { to: '{{goal}}' } }] } },
      { reply: 'Paid.' },
    ]);
    const pay = {
      name: 'pay',
      description: 'Pays.',
      inputSchema: { type: 'object' },
      repeat: 'keyed' as const,
      execute: (_args: unknown, { key }: { key: string }) => (keys.push(key), 'paid'),
    };
    const agent = defineAgent({ name: 'a', description: 'Pays', prompt: 'Pay.', models: [model], tools: [pay] });
    await using cloister = await openCloister({ store: 'memory', agents: [agent] });
    const { run, cell } = await cloister.run('a', 'Alice').outcome;
    const fork = await cloister.fork(run, { at: `${cell}/0` });
    const again = await cloister.fork((await fork.outcome).run, { at: `${cell}/1` });
    await again.outcome;
    expect(keys).toEqual([`${cell}/1`, `${fork.run}/${cell}/1`, `${again.run}/${cell}/1`]);
  });

  test('the time between a run and its fork counts towards no deadline, at any operation', async () => {
    const parts = team();
    const clock = virtualClock(1_000);
    const cloister = await openCloister({ store: 'memory', agents: [parts.agent], clock });
    const first = await cloister.run('lead', 'Look around', { budget: { ms: 60_000 } }).outcome;
    expect(first.status).toBe('completed');
    for (const { cell, op } of await operationStarts(cloister, first.run)) {
      await clock.advance(86_400_000);
      const forked = await (await cloister.fork(first.run, { at: `${cell}/${op}` })).outcome;
      expect(forked.status, `${cell}/${op}`).toBe('completed');
      expect((await cloister.replay(forked.run)).differences, `${cell}/${op}`).toEqual([]);
    }
  });

  test('the events of a fork begin with those it keeps', async () => {
    const { cloister, run } = await recorded();
    const [, , third] = await operationStarts(cloister, run);
    const events: string[] = [];
    const fork = await cloister.fork(run, { at: `${third!.cell}/${third!.op}` });
    for await (const event of fork) events.push(event.type);
    expect(events[0]).toBe('session-start');
    expect(events).toContain('run-fork');
    expect(events.at(-1)).toBe('session-end');
  });

  test.each([
    ['nobody/3', /no cell "nobody\/3"/u],
    ['lead', /no cell "lead"/u],
  ])('a location that does not exist is refused, listing those that do: %s', async (at, words) => {
    const { cloister, run } = await recorded();
    await expect(cloister.fork(run, { at })).rejects.toMatchObject({ code: 'fork_invalid', message: words });
  });

  test('a grant that was used when the run began cannot be revoked', async () => {
    const { cloister, run, outcome } = await recorded();
    await expect(cloister.fork(run, { at: outcome.cell, withoutGrants: ['goal'] })).rejects.toMatchObject({
      code: 'fork_invalid',
      message: expect.stringContaining('was set before the fork point'),
    });
  });

  test('an unknown operation, a goal in the middle of work, an unknown grant or model: each is refused', async () => {
    const { cloister, run } = await recorded();
    const [first] = await operationStarts(cloister, run);
    const cell = first!.cell;
    const refused = (options: Parameters<Cloister['fork']>[1]) =>
      cloister.fork(run, options).then(
        () => 'forked',
        (error: Error) => error.message,
      );
    expect(await refused({ at: `${cell}/999` })).toMatch(/no operation 999: .* has 0 model:/u);
    expect(await refused({ at: `${cell}/0`, goal: 'x' })).toMatch(/where a cell starts/u);
    expect(await refused({ at: cell, goal: ' ' })).toMatch(/goal is empty/u);
    expect(await refused({ at: cell, withoutGrants: ['mailbox' as never] })).toMatch(/has no grant "mailbox"/u);
    expect(await refused({ at: cell, model: 'no/such' })).toMatch(/not one of: /u);
    expect((await cloister.runs()).length).toBe(1);
  });
});
