// Crash after every frame of a mixed workload and resume from the log: nothing that was settled happens again, and the
// outcome is the same.
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Agent, Frame, History, Model, Outcome, RunLog, ToolDefinition, RunPorts } from '#contracts';
import { memoryStore } from '#adapters/stores';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import { auditRun } from '#core/audit';
import { projectEvents, reportRun } from '#core/events';
import { checkResume, defineAgent, replayRun, resumeRun, startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { expectSums } from '../sums.ts';

const run = 'a1b2c3d4e5f6' as RunId;

/** The real effects, by call key: models and tools record them here, crashed or not. */
type Effects = { readonly tools: string[]; readonly models: string[] };

const toolOf = (effects: Effects, name: string, repeat: 'free' | 'keyed' | 'never', text: string): ToolDefinition => ({
  name,
  description: name,
  repeat,
  inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
  execute: async ({ q }, { key }) => {
    effects.tools.push(`${name} ${key}`);
    if (q === 'fail') throw new Error('no');
    return `${text}${typeof q === 'string' ? q : ''}`;
  },
});

type Wired = {
  readonly lead: Agent;
  readonly clock: ReturnType<typeof virtualClock>;
  readonly world: (log: RunLog) => RunPorts;
  readonly effects: Effects;
};

const wire = (seed = 'first'): Wired => {
  const effects: Effects = { tools: [], models: [] };
  const clock = virtualClock(1_000_000);
  const tool = (name: string, repeat: 'free' | 'keyed' | 'never', text: string) => toolOf(effects, name, repeat, text);
  const scripted = scriptedModel(effects, clock);
  const flaky = flakyModel(effects);
  const long: ToolDefinition = {
    ...tool('long', 'free', ''),
    execute: (_args, { key }) => (effects.tools.push(`long ${key}`), 'l'.repeat(40_000)),
  };
  const worker = defineAgent({
    name: 'worker',
    description: 'Works',
    prompt: 'Work.',
    models: [flaky, scripted],
    limits: { maxRetries: 0, contextTokensMax: 30_000 },
    share: ['system', 'context'],
    budgetGroup: 'workers',
    tools: [tool('look', 'free', 'seen '), tool('send', 'never', 'sent ')],
  });
  const slow = defineAgent({
    name: 'slow',
    description: 'Is late',
    prompt: 'Wait.',
    models: [scripted],
    limits: { llmTimeout: 50_000, maxRetries: 0 },
  });
  const hang: ToolDefinition = {
    ...tool('hang', 'free', ''),
    execute: (_args, { key }) => (effects.tools.push(`hang ${key}`), new Promise(() => undefined)),
  };
  const stuck = defineAgent({
    name: 'stuck',
    description: 'Hangs',
    prompt: 'Hang.',
    models: [scripted],
    tools: [hang],
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads',
    prompt: 'Lead.',
    models: [scripted],
    agents: [worker, slow, stuck],
    gather: { timeoutMs: 5_000 },
    tools: [tool('look', 'free', 'seen '), tool('send', 'never', 'sent '), long],
    budget: { tokens: 1_000_000, usd: 10 },
  });
  const store = memoryStore();
  const world = (log: RunLog): RunPorts => ({
    run,
    log,
    clock,
    ids: countingIds(seed),
    workspaces: memoryCellFolders(),
    validate,
    resources: {
      resourcesFor: ({ resources: { models, sources } }) => ({
        models: models.filter((model) => typeof model !== 'string'),
        sources: sources.map((source) => ({ source, only: null })),
      }),
    },
    groupTokens: ({ caps: { budgetGroup } }) => (budgetGroup === null ? undefined : 20_000),
    storeBlob: (bytes) => store.putBlob(bytes),
    readBlob: (ref) => store.getBlob(ref),
    lane: () => undefined,
  });
  return { lead, clock, world, effects };
};

const scriptedModel = (effects: Effects, clock: ReturnType<typeof virtualClock>): Model => {
  const rehearsal = rehearse(scriptOf(), { clock, keepRequests: false });
  return { language: counted(rehearsal, effects, 'main'), price: { input: 1, output: 1 } };
};

const scriptOf = () => ({
  lines: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        calls: [
          { tool: 'look', args: { q: 'a' } },
          { tool: 'worker', args: { prompt: 'part one' } },
          { tool: 'send', args: { q: 'b' } },
          { tool: 'worker', args: { prompt: 'part two' } },
          { tool: 'look', args: { q: 'fail' } },
        ],
      },
    },
    {
      when: { agent: 'lead', turn: 2 },
      reply: {
        calls: [
          {
            tool: 'gather',
            args: {
              tasks: [
                { agent: 'worker', prompt: 'three' },
                { agent: 'slow', prompt: 'four' },
                { agent: 'stuck', prompt: 'five' },
              ],
            },
          },
          { tool: 'long', args: { q: 'x' } },
        ],
      },
    },
    { when: { agent: 'lead', turn: 3 }, reply: { text: 'All of it: {{results}}' } },
    {
      when: { agent: 'worker', turn: 1 },
      reply: {
        calls: [
          { tool: 'look', args: { q: 'w' } },
          { tool: 'send', args: { q: 'v' } },
        ],
        delayMs: 30,
      },
    },
    { when: { agent: 'worker', turn: 2 }, reply: { text: 'Worker on {{goal}}: {{results}}' } },
    { when: { agent: 'slow' }, reply: { text: 'too late', delayMs: 90_000 } },
    { when: { agent: 'stuck', turn: 1 }, reply: { calls: [{ tool: 'hang', args: {} }] } },
  ],
});

/** Fails every request, so the fallback answers. */
const flakyModel = (effects: Effects): Model => ({
  language: counted(rehearse([{ reply: { fault: 400 } }], { modelId: 'flaky', keepRequests: false }), effects, 'flaky'),
  price: { input: 1, output: 1 },
});

const counted = (model: Model['language'], effects: Effects, name: string): Model['language'] => ({
  specificationVersion: 'v4',
  provider: model.provider,
  modelId: model.modelId,
  supportedUrls: {},
  doGenerate: (options) => model.doGenerate(options),
  doStream: (options) => {
    effects.models.push(`${name} ${options.prompt.length}`);
    return model.doStream(options);
  },
});

/** Accepts `max` frames; from then on the process is dead: nothing is written and nothing becomes durable. */
const dyingLog = (frames: Frame[], max: number): RunLog => ({
  append: (frame) => void (frames.length < max && frames.push(frame)),
  durable: () => (frames.length < max ? undefined : new Promise(() => undefined)),
  close: async () => undefined,
});

const resume = (frames: readonly Frame[], findAgent: (name: string) => Agent | undefined, world: RunPorts): Run =>
  resumeRun(checkResume(frames, findAgent), world);

const finish = async (wired: Wired, live: Run) => {
  const outcome = live.outcome;
  for (let step = 0; step < 400; step++) {
    const done = await Promise.race([outcome.then(() => true), wired.clock.advance(1_000).then(() => false)]);
    if (done) break;
  }
  return outcome;
};

/** The part of the spending that a crash does not change: uncertain amounts and time may differ. */
const comparableSpending = ({ spent: { uncertain: _uncertain, ms: _ms, ...used } }: Outcome) => used;

/** The settled steps of each cell: these may not happen again. */
const settledSteps = (frames: readonly Frame[]): Set<string> =>
  new Set(frames.flatMap(({ cell, record }) => (record.type === 'settle' ? [`${cell}/${record.op}`] : [])));

const begunSteps = (frames: readonly Frame[]): Map<string, string> =>
  new Map(
    frames.flatMap(({ cell, record }) =>
      record.type === 'begin' ? [[`${cell}/${record.op}`, record.name] as const] : [],
    ),
  );

const runOnce = async () => {
  const wired = wire();
  const frames: Frame[] = [];
  const history: History = {
    conversation: 'before',
    leftOut: 0,
    entries: [
      { agent: null, category: 'CONTEXT', text: 'The house style is short.' },
      { agent: null, category: 'DIALOG', text: 'Hello.' },
      { agent: 'clerk', category: 'DIALOG', text: 'It is urgent.' },
    ],
  };
  const world = wired.world(dyingLog(frames, Infinity));
  const live = startRun(wired.lead, 'Do the whole thing', undefined, world, { history });
  // While two workers are running: they get new context only on a refresh.
  await wired.clock.advance(10);
  live.do({ do: 'add-context', text: 'And it is British.' });
  const [worker] = frames.flatMap(({ record }) =>
    record.type === 'begin' && record.birth?.agent === 'worker' ? [record.birth.cell] : [],
  );
  const refresh = (): number => live.do({ do: 'refresh-share', child: worker! });
  expect([refresh(), refresh()]).toEqual([1, 0]);
  const outcome = await finish(wired, live);
  return { wired, frames, outcome };
};

describe('a mixed workload: steps, children, fallback, parallel chains, gather with a late child', () => {
  test('ends with a partial answer and its audit is ok', async () => {
    const { frames, outcome } = await runOnce();
    expect(outcome).toMatchObject({ status: 'partial', missing: ['slow', 'stuck'] });
    expect(frames.length).toBeGreaterThan(60);
    const store = memoryStore();
    await store.putBlob(Buffer.from('l'.repeat(40_000)));
    const audit = await auditRun(frames, { readBlob: (ref) => store.getBlob(ref), damaged: [] });
    expect(audit.problems).toEqual([]);
    const crossed = frames.flatMap(({ contents = [] }) => contents.map(({ kind }) => kind));
    const of = (kind: string) => crossed.filter((one) => one === kind).length;
    expect({ share: of('share'), note: of('note'), history: of('history') }).toEqual({ share: 4, note: 3, history: 2 });
    const windows = new Set(frames.flatMap(({ attempt }) => (attempt ? [attempt.window.by] : [])));
    expect(windows).toEqual(new Set(['default', 'group']));
  });

  test('a tool recorded as not repeatable is not repeated, whatever its code says now', async () => {
    const { frames } = await runOnce();
    const begun = frames.find(({ record }) => record.type === 'begin' && record.name === 'tool:send')!;
    const wired = wire('free');
    const more: Frame[] = [];
    const { resources } = wired.lead;
    const tools = resources.tools.map((tool) => ({ ...tool, repeat: 'free' as const }));
    const freed = { ...wired.lead, resources: { ...resources, tools } };
    const agentOf = (name: string) => [freed, ...freed.children.agents].find((agent) => agent.name === name);
    const world = wired.world(dyingLog(more, Infinity));
    await finish(wired, resume(frames.slice(0, begun.no + 1), agentOf, world));
    const key = `${begun.cell}/${(begun.record as { op: number }).op}`;
    expect(wired.effects.tools.filter((effect) => effect === `send ${key}`)).toEqual([]);
    expect(more.map(({ record }) => record)).toContainEqual(
      expect.objectContaining({ type: 'settle', failure: { code: 'indeterminate' } }),
    );
  });

  test('resumed from every prefix of its log, it repeats nothing that settled and ends the same', async () => {
    const whole = await runOnce();
    const points = whole.frames.length - 1;
    for (let point = 1; point <= points; point++) {
      const prefix = whole.frames.slice(0, point);
      const wired = wire(`after ${point}`);
      const frames: Frame[] = [];
      await wired.clock.advance(60_000);
      const live = resume(
        prefix,
        (name) => [wired.lead, ...wired.lead.children.agents].find((agent) => agent.name === name),
        {
          ...wired.world(dyingLog(frames, Infinity)),
        },
      );
      const outcome = await finish(wired, live);
      // What it has followed it need not remember.
      const { recorded } = live;
      const kept = [...recorded!.cells.values()].filter(({ settles }) => settles.size > 0);
      expect([recorded!.frames, kept], `crash after frame ${point - 1}`).toEqual([[], []]);
      const settled = settledSteps(prefix);
      const repeated = frames.filter(
        ({ cell, record }) => record.type === 'settle' && settled.has(`${cell}/${record.op}`),
      );
      expect(repeated, `crash after frame ${point - 1}`).toEqual([]);
      const reran = wired.effects.tools.filter((effect) => settled.has(effect.split(' ')[1]!));
      expect(reran, `crash after frame ${point - 1}`).toEqual([]);
      const never = [...begunSteps(prefix)]
        .filter(([key, name]) => name === 'tool:send' && !settled.has(key))
        .map(([key]) => key);
      expect(
        wired.effects.tools.filter((effect) => never.includes(effect.split(' ')[1]!)),
        `crash after frame ${point - 1}`,
      ).toEqual([]);
      const indeterminate = frames
        .filter(({ cell, record }) => record.type === 'settle' && never.includes(`${cell}/${record.op}`))
        .map(({ record }) => (record as { failure?: { code: string } }).failure?.code);
      expect(indeterminate).toEqual(never.map(() => 'indeterminate'));
      expect(outcome.status, `crash after frame ${point - 1}`).toBe('partial');
      if (never.length === 0) expect(outcome.output, `crash after frame ${point - 1}`).toBe(whole.outcome.output);
      const all = [...prefix, ...frames];
      expectSums(await reportRun(all, 'ended'));
      // Context that was added later is not added again.
      const gaveAll = whole.frames.slice(point).every(({ record }) => record.type !== 'give');
      if (never.length === 0 && gaveAll)
        expect(comparableSpending(outcome), `crash after frame ${point - 1}`).toEqual(
          comparableSpending(whole.outcome),
        );
      expect(all.map(({ no }) => no)).toEqual(all.map((_, index) => index));
      const audit = await auditRun(all, { readBlob: async () => Buffer.from('l'.repeat(40_000)), damaged: [] });
      expect(audit.problems, `crash after frame ${point - 1}`).toEqual([]);
    }
    expect(points).toBeGreaterThan(60);
  });

  test('crashed a second time after resuming, it still ends the same', async () => {
    const whole = await runOnce();
    const agentOf = (wired: Wired) => (name: string) =>
      [wired.lead, ...wired.lead.children.agents].find((agent) => agent.name === name);
    for (let point = 2; point < whole.frames.length - 1; point += 3) {
      const prefix = whole.frames.slice(0, point);
      const second = wire(`second ${point}`);
      const more: Frame[] = [];
      void resume(prefix, agentOf(second), second.world(dyingLog(more, 1 + (point % 7)))).outcome;
      for (let step = 0; step < 5; step++) await second.clock.advance(1_000);
      if (more.some(({ record }) => record.type === 'close')) continue;
      const third = wire(`third ${point}`);
      const rest: Frame[] = [];
      const outcome = await finish(
        third,
        resume([...prefix, ...more], agentOf(third), third.world(dyingLog(rest, Infinity))),
      );
      const all = [...prefix, ...more, ...rest];
      const sends = all.filter(
        ({ record }) => record.type === 'settle' && record.failure?.code === 'indeterminate',
      ).length;
      if (sends === 0)
        expect(outcome.output, `crashes after frames ${point - 1} and ${point + more.length - 1}`).toBe(
          whole.outcome.output,
        );
      expectSums(await reportRun(all, 'ended'));
      const audit = await auditRun(all, { readBlob: async () => Buffer.from('l'.repeat(40_000)), damaged: [] });
      expect(audit.problems, `crashes after frames ${point - 1} and ${point + more.length - 1}`).toEqual([]);
    }
  });

  // invariant: replay-touches-nothing
  test('re-executed from its log, it gives the same records, also after a crash at any frame and any length', async () => {
    const whole = await runOnce();
    const agentOf = (wired: Wired) => (name: string) =>
      [wired.lead, ...wired.lead.children.agents].find((agent) => agent.name === name);
    const again = async (frames: readonly Frame[]) => {
      const wired = wire();
      const replayed = await replayRun(frames, agentOf(wired), wired.world(dyingLog([], Infinity)));
      expect(wired.effects).toEqual({ tools: [], models: [] });
      return replayed;
    };
    const replayed = await again(whole.frames);
    expect(replayed.differences).toEqual([]);
    expect(replayed).toMatchObject({ ok: true, frames: whole.frames.length, same: whole.frames.length });
    expect(replayed.outcome).toEqual(whole.outcome);
    expect(replayed.hash.replayed).toBe(replayed.hash.recorded);
    for (let point = 1; point < whole.frames.length; point += 2) {
      const prefix = whole.frames.slice(0, point);
      expect((await again(prefix)).differences, `cut after frame ${point - 1}`).toEqual([]);
      const wired = wire(`after ${point}`);
      const frames: Frame[] = [];
      await wired.clock.advance(60_000);
      const live = resume(prefix, agentOf(wired), wired.world(dyingLog(frames, Infinity)));
      const outcome = await finish(wired, live);
      const resumed = await again([...prefix, ...frames]);
      expect(resumed.differences, `crash after frame ${point - 1}`).toEqual([]);
      expect(resumed.outcome, `crash after frame ${point - 1}`).toEqual(outcome);
    }
  });

  test('a replay of the whole log calls no model and no tool, and gives the same events', async () => {
    const whole = await runOnce();
    const withoutEnd = whole.frames.slice(0, -1);
    const wired = wire();
    const frames: Frame[] = [];
    const outcome = await finish(
      wired,
      resume(withoutEnd, () => wired.lead, wired.world(dyingLog(frames, Infinity))),
    );
    expect(wired.effects).toEqual({ tools: [], models: [] });
    expect(outcome.output).toBe(whole.outcome.output);
    expect(frames.map(({ record }) => record.type)).toEqual(['resume', 'close']);
    const project = (list: readonly Frame[]) => {
      const events = projectEvents('contents');
      return list
        .flatMap((frame) => events.next(frame))
        .filter(({ type }) => type !== 'run-resume')
        .map(({ type, cell }) => `${type} ${cell}`);
    };
    expect(project([...withoutEnd, ...frames])).toEqual(project(whole.frames));
  });

  test('cancelled, crashed and resumed, it ends cancelled with the same output, and its audit is ok', async () => {
    let points = 0;
    for (const cancelAfterMs of [0, 1, 31, 200, 3_000]) {
      const first = wire(`cancelled ${cancelAfterMs}`);
      const frames: Frame[] = [];
      const live = startRun(first.lead, 'Do the whole thing', undefined, first.world(dyingLog(frames, Infinity)));
      await first.clock.advance(cancelAfterMs);
      live.do({ do: 'cancel' });
      const whole = await finish(first, live);
      expect(whole.status).toBe('cancelled');
      const cancelledAt = frames.findIndex(({ record }) => record.type === 'cancel');
      for (let point = cancelledAt + 1; point < frames.length; point++) {
        points++;
        const wired = wire(`again ${cancelAfterMs} ${point}`);
        await wired.clock.advance(90_000);
        const more: Frame[] = [];
        const agents = [wired.lead, ...wired.lead.children.agents];
        const resumed = resume(
          frames.slice(0, point),
          (name) => agents.find((agent) => agent.name === name),
          wired.world(dyingLog(more, Infinity)),
        );
        const outcome = await finish(wired, resumed);
        const where = `cancelled after ${cancelAfterMs} ms, crashed after frame ${point - 1}`;
        expect({ ...outcome, spent: null }, where).toEqual({ ...whole, spent: null });
        expect(wired.effects, where).toEqual({ tools: [], models: [] });
        const all = [...frames.slice(0, point), ...more];
        expectSums(await reportRun(all, 'ended'));
        const audit = await auditRun(all, { readBlob: async () => Buffer.from('l'.repeat(40_000)), damaged: [] });
        expect(audit.problems, where).toEqual([]);
      }
    }
    expect(points).toBeGreaterThan(20);
  });

  test('resumed from any prefix, nothing is called before the log records it', async () => {
    const whole = await runOnce();
    const early: string[] = [];
    let calls = 0;
    for (let length = 1; length < whole.frames.length; length++) {
      const wired = wire('so');
      const more: Frame[] = [];
      for (const list of [wired.effects.tools, wired.effects.models])
        list.push = (...called) => {
          calls += 1;
          if (more[0]?.record.type !== 'resume') early.push(`${called[0]} after ${length} frames`);
          return list.length;
        };
      await finish(
        wired,
        resume(whole.frames.slice(0, length), () => wired.lead, wired.world(dyingLog(more, Infinity))),
      );
    }
    expect(early).toEqual([]);
    expect(calls).toBeGreaterThan(100);
  });

  test('resumed with another model or another child, it stays untouched: nothing is sent, nothing is written', async () => {
    const whole = await runOnce();
    const changes: Record<string, (agent: Agent) => Agent> = {
      'another model': (agent) => ({
        ...agent,
        resources: {
          ...agent.resources,
          models: agent.resources.models.map((model) =>
            typeof model === 'string' ? model : { ...model, language: { ...model.language, modelId: 'other' } },
          ),
        },
      }),
      'another child': (agent) => ({
        ...agent,
        children: {
          ...agent.children,
          agents: agent.children.agents.map((child) => ({
            ...child,
            digest: `${child.digest.slice(0, -1)}x` as Agent['digest'],
          })),
        },
      }),
    };
    for (const [what, change] of Object.entries(changes)) {
      const wired = wire(what);
      const more: Frame[] = [];
      const lead = change(wired.lead);
      // A changed child is known before anything begins, another model when it is asked.
      const tryToResume = async () =>
        finish(
          wired,
          resume(whole.frames.slice(0, 12), () => lead, wired.world(dyingLog(more, Infinity))),
        );
      await expect(tryToResume(), what).rejects.toMatchObject({ failure: { code: 'replay_differs' } });
      expect(wired.effects, what).toEqual({ tools: [], models: [] });
      expect(more, what).toEqual([]);
    }
  });

  test('a run with a changed definition is not resumed, and neither is a run that has ended', async () => {
    const whole = await runOnce();
    const wired = wire();
    const other = defineAgent({
      name: 'lead',
      description: 'Leads',
      prompt: 'Lead otherwise.',
      models: [wired.lead.resources.models[0]!],
    });
    const log = dyingLog([], Infinity);
    expect(() => resume(whole.frames.slice(0, 5), () => other, wired.world(log))).toThrow(CloisterError);
    expect(() => resume(whole.frames, () => wired.lead, wired.world(log))).toThrow(/ended/u);
  });
});
