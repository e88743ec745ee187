// Non-interference of agents that spawn agents and exchange messages, as users run it.
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { AgentOptions, ToolDefinition } from 'cloister';
import { expectIsolated, verifyIsolation } from 'cloister/testkit';
import type { Workflow } from 'cloister/testkit';
import { checkIsolation } from '#testkit';
import type { Environment } from '#testkit';
import { printedOptions } from './printed-options.ts';

const never = (): never => {
  throw new Error('Something of the user was called.');
};
const model = {
  specificationVersion: 'v4' as const,
  provider: 'mine',
  modelId: 'm',
  supportedUrls: {},
  doGenerate: never,
  doStream: never,
};
const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const tool = (name: string, execute: ToolDefinition['execute'] = never): ToolDefinition => ({
  name,
  description: `Does ${name}.`,
  inputSchema: text,
  repeat: 'free',
  execute,
});

const agent = (name: string, options: Partial<AgentOptions>) =>
  defineAgent({ name, description: `Is ${name}.`, prompt: `You are ${name}.`, models: [model], ...options });

/** A lead that spawns scouts, each with a helper that it calls; the lead has `remember`, the scouts have `recall`. */
const team = (remember: ToolDefinition['execute'] = never, recall: ToolDefinition['execute'] = never): Workflow => {
  const helper = agent('helper', { input: { format: 'json', schema: text } });
  const scout = agent('scout', {
    tools: [tool('recall', recall), 'send_message', 'receive_message', 'publish'],
    agents: [helper],
    messages: ['parent', 'siblings'],
    topics: ['news'],
    output: { format: 'json' },
    limits: { maxToolTurns: 1, timeout_ms: 5, max_steps: 1 },
  });
  const lead = agent('lead', {
    tools: [tool('remember', remember), 'spawn_agent', 'shutdown_agent', 'send_message', 'receive_message', 'publish'],
    spawns: { agents: [scout], templates: true, share: ['context'] },
    topics: { say: ['news'] },
    budget: { tokens: 1, spawns: 0 },
  });
  return { agents: [lead] };
};

/** Tools of two agents that share their notes. */
const sharing = (): Workflow => {
  let kept = 'nothing';
  return team(
    ({ text: words }) => {
      kept = words as string;
      return 'Kept.';
    },
    () => kept,
  );
};

describe('agents that spawn agents and share nothing', () => {
  // invariants: act-takes-fixed-time, aides-wait-between-acts, private-work-is-short
  test('are isolated and all covered; their own models and tools are not called for the check', async () => {
    const report = await expectIsolated(team(), { pairs: 100, seed: 3 });
    // Half as many again, for messages.
    expect(report).toMatchObject({ ok: true, agent: 'lead', pairs: 150, differences: [] });
    // With less, there would hardly have been any messages.
    expect(report.sights).toBeGreaterThan(100 + 50 * 10);
    const [unrun, played, ...more] = report.notes;
    expect(more).toEqual([]);
    expect(unrun).toBe('Tools are not run, so what the code of recall, remember does is not covered.');
    const figures =
      /^50 of the pairs spawn agents and exchange messages: sessions (\d+) of helper, (\d+) of scout, 50 of lead, (\d+) defined inline; they got (\d+) messages and (\d+) broadcasts\.$/u;
    const counts = figures.exec(played!)?.slice(1).map(Number) ?? [];
    expect(counts).toHaveLength(5);
    for (const count of counts) expect(count).toBeGreaterThan(10);
  });

  test('are checked with the same pairs for the same seed, and with others for another seed', async () => {
    const [one, same, other] = [
      await verifyIsolation(team(), { pairs: 1, seed: 7 }),
      await verifyIsolation(team(), { pairs: 1, seed: 7 }),
      await verifyIsolation(team(), { pairs: 1, seed: 7_000 }),
    ];
    expect(one.pairs).toBe(21);
    expect(same).toEqual(one);
    expect([other.bytes, other.sights]).not.toEqual([one.bytes, one.sights]);
  });

  test('may spawn copies of themselves', async () => {
    const one = agent('one', { tools: ['spawn_agent', 'receive_message'], spawns: { agents: ['self'] } });
    const { ok, notes } = await verifyIsolation({ agents: [one] }, { pairs: 40, seed: 1 });
    expect(ok).toBe(true);
    expect(Number(/sessions (\d+) of one;/u.exec(notes.join())?.[1])).toBeGreaterThan(40);
  });
});

describe('agents that spawn agents, and whose tools share state', () => {
  test('are isolated as long as the tools are not run', async () => {
    expect(await verifyIsolation(sharing(), { pairs: 40, seed: 3 })).toMatchObject({ ok: true });
  });

  test('are detected when the tools are run, with a short case that can be reproduced', async () => {
    const { ok, differences } = await verifyIsolation(sharing(), { pairs: 40, seed: 1, realTools: true });
    expect(ok).toBe(false);
    const [difference] = differences;
    expect(difference).toMatchObject({
      sink: expect.stringMatching(/^lead › scout #\d+: request \d+ to the model$/u),
      varied: expect.stringMatching(/^(?:lead|every "lead"|lead › drawn-\d #\d+)$/u),
      shortest: expect.stringMatching(
        /^\d+ acts \(.*lead: .*spawn_agent scout.*\); (?:every "lead"|lead|lead › drawn-\d #\d+): .*remember/u,
      ),
    });
    expect(difference!.one).not.toBe(difference!.other);
    const again = await verifyIsolation(sharing(), printedOptions(difference!.again));
    expect(again).toMatchObject({ ok: false, differences: [{ sink: difference!.sink, again: difference!.again }] });
  });

  // invariant: request-names-cell
  test('are detected when they are two sessions of one agent', async () => {
    let kept = 'nothing';
    const note = tool('note', ({ text: words }) => (kept = words as string));
    const twin = agent('twin', { tools: [note, tool('recall', () => kept), 'receive_message'] });
    const lead = agent('lead', { tools: ['spawn_agent'], spawns: { agents: [twin] } });
    const { differences } = await verifyIsolation({ agents: [lead] }, { pairs: 40, seed: 1, realTools: true });
    expect(differences).toMatchObject([
      {
        sink: expect.stringMatching(/^lead › twin #\d+: request/u),
        varied: expect.stringMatching(/^lead › twin #\d+$/u),
      },
    ]);
  });

  test('are distinguished from tools that never return the same result twice', async () => {
    let calls = 0;
    const counting = team(
      () => `Call ${++calls}.`,
      () => `Call ${++calls}.`,
    );
    const { differences } = await verifyIsolation(counting, { pairs: 40, seed: 1, realTools: true });
    expect(differences[0]?.varied).toBe('nothing (the same run gives a different result when repeated)');
  });
});

describe('the environment of spawned agents', () => {
  const environment = (leaks: boolean): Environment => ({
    variablesOf: ({ name }) => [`KEY of ${name}`],
    fill: ({ name }, valueOf) => (leaks ? ['KEY of lead', 'KEY of scout'] : [`KEY of ${name}`]).map(valueOf),
  });
  const check = (leaks: boolean) =>
    checkIsolation({ agent: team().agents[0] as never, environment: environment(leaks) }, { pairs: 1, seed: 5 });

  test('is compared: a value that belongs only to another agent is a difference', async () => {
    expect(await check(false)).toMatchObject({ ok: true });
    expect((await check(true)).differences).toMatchObject([{ sink: expect.stringMatching(/: environment$/u) }]);
  });
});

test.each(['dungeon', 'analysts', 'continue'])('all agents of the example %s are covered', async (example) => {
  const folder = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  const { ok, notes } = await verifyIsolation({ agents: [folder], cwd: folder }, { pairs: 10, seed: 1 });
  expect(ok).toBe(true);
  expect(notes.at(-1)).toMatch(/^20 of the pairs spawn agents and exchange messages: sessions [1-9]/u);
  expect(notes.join()).not.toMatch(/ 0 of |calls no other agents/u);
});

test('a check of agents with messages stops when the signal aborts, and reports its progress', async () => {
  const stop = new AbortController();
  const report = await verifyIsolation(team(), {
    pairs: 200,
    seed: 1,
    signal: stop.signal,
    progress: (pairs) => (pairs > 200 ? stop.abort() : undefined),
  });
  expect(report).toMatchObject({ ok: true, differences: [], pairs: 250 });
  expect(report.notes.at(-1)).toBe('Only 50 of 100 such pairs were compared.');
});
