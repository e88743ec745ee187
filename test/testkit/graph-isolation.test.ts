// Non-interference of teams, as users run it.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defineAgent, defineTeam } from 'cloister';
import type { AgentOptions, TeamOptions, ToolDefinition } from 'cloister';
import { expectIsolated, verifyIsolation } from 'cloister/testkit';
import type { Workflow } from 'cloister/testkit';
import { checkIsolation } from '#testkit';
import type { Environment } from '#testkit';
import { verifyAgent } from '../../src/app/verify.ts';
import { newFolder } from './folders.ts';
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

const agent = (name: string, options: Partial<AgentOptions> = {}) =>
  defineAgent({ name, description: `Is ${name}.`, prompt: `You are ${name}.`, models: [model], ...options });

type Execute = ToolDefinition['execute'];

/** Ann has `remember`, Ben has `recall`; a lead plans. */
const team = (remember: Execute = never, recall: Execute = never, more: Partial<TeamOptions> = {}) =>
  defineTeam({
    name: 'crew',
    agents: [
      agent('ann', { tools: [tool('remember', remember), 'send_message'] }),
      agent('ben', { tools: [tool('recall', recall)], limits: { maxToolTurns: 1, timeout_ms: 5 } }),
    ],
    coordinator: agent('lead'),
    messages: true,
    budget: { tokens: 1, spawns: 0 },
    ...more,
  });

const flow = (...given: Parameters<typeof team>): Workflow => ({ agents: [team(...given)] });

/** Tools of two members that share their notes. */
const sharing = (): Workflow => {
  let kept = 'nothing';
  return flow(
    ({ text: words }) => {
      kept = words as string;
      return 'Kept.';
    },
    () => kept,
  );
};

describe('a team whose members share nothing', () => {
  test('is isolated; its own models and tools are not called for the check', async () => {
    const report = await expectIsolated(flow(), { pairs: 60 });
    expect(report).toMatchObject({ ok: true, agent: 'crew', pairs: 60, differences: [] });
    // With less, the other cells would hardly have done anything.
    expect(report.sights / report.pairs).toBeGreaterThan(5);
    expect(report.bytes / report.pairs).toBeGreaterThan(5_000);
  });

  test('is checked with the same pairs for the same seed, and with others for another seed', async () => {
    const [one, same, other] = [
      await verifyIsolation(flow(), { pairs: 15, seed: 7 }),
      await verifyIsolation(flow(), { pairs: 15, seed: 7 }),
      await verifyIsolation(flow(), { pairs: 15, seed: 7_000 }),
    ];
    expect(same).toEqual(one);
    expect([other.bytes, other.sights]).not.toEqual([one.bytes, one.sights]);
  });

  test('gets notes on what was checked and what was not', async () => {
    const beside = agent('cleo', { messages: ['siblings'] });
    const { notes } = await verifyIsolation(flow(never, never, { agents: [beside, agent('ben')] }), { pairs: 10 });
    expect(notes).toEqual([
      'Messages from "cleo" to agents at work beside it, which its own `messages` allows, are not covered.',
      expect.stringMatching(/^Task graphs with \d+ tasks: \d+ cells, which got \d+ results and \d+ messages\.$/u),
    ]);
  });

  test('is checked together with the agents that its members call', async () => {
    const agents = [agent('ann', { agents: [agent('helper')] }), agent('ben')];
    const report = await verifyIsolation(flow(never, never, { agents }), { pairs: 20 });
    expect(report).toMatchObject({ ok: true, agent: 'crew', pairs: 40 });
  });

  test('is also checked when an agent calls it', async () => {
    const boss = agent('boss', { agents: [team()] });
    const report = await verifyIsolation({ agents: [boss] }, { pairs: 10 });
    expect(report).toMatchObject({ ok: true, agent: 'boss', pairs: 30 });
    expect(report.notes.join(' ')).toMatch(/Task graphs with \d+ tasks/u);
  });

  test('needs no coordinator', async () => {
    const alone = defineTeam({ name: 'alone', agents: [agent('ann')] });
    expect(await verifyIsolation({ agents: [alone] }, { pairs: 10 })).toMatchObject({ ok: true, pairs: 10 });
  });

  test('accepts a goal', async () => {
    const words = { ...flow(), input: 'Find the needle.' };
    expect(await verifyIsolation(words, { pairs: 10, seed: 3 })).toMatchObject({ ok: true, pairs: 10 });
  });

  test('is checked until the signal aborts', async () => {
    const stop = new AbortController();
    const report = await verifyIsolation(flow(), {
      pairs: 10_000,
      signal: stop.signal,
      progress: () => stop.abort(),
    });
    expect(report).toMatchObject({ ok: true, pairs: 50, differences: [] });
    expect(report.notes.at(-1)).toBe('Only 50 of 10000 pairs were compared.');
  });
});

describe('members whose tools share state', () => {
  test('are isolated as long as the tools are not run', async () => {
    expect(await verifyIsolation(sharing(), { pairs: 30, seed: 3 })).toMatchObject({ ok: true });
  });

  test('are detected when the tools are run, with a short case that shows it on its own', async () => {
    const { ok, differences } = await verifyIsolation(sharing(), { pairs: 300, seed: 1_000, realTools: true });
    expect(ok).toBe(false);
    const [difference] = differences;
    expect(difference).toMatchObject({
      sink: expect.stringMatching(/^(?:t\d+ #\d|the answer): /u),
      varied: expect.stringMatching(/^(?:task t\d|every "ann"|the )/u),
      shortest: expect.stringMatching(/^\d tasks \(t\d.*remember.*recall/u),
    });
    expect(difference!.one).not.toBe(difference!.other);
    const again = await verifyIsolation(sharing(), printedOptions(difference!.again));
    expect(again).toMatchObject({ ok: false, pairs: 1, differences: [{ sink: difference!.sink }] });
  });

  test('are distinguished from tools that never return the same result twice', async () => {
    let calls = 0;
    const counting = flow(
      () => `Call ${++calls}.`,
      () => `Call ${++calls}.`,
    );
    const { differences } = await verifyIsolation(counting, { pairs: 200, seed: 1, realTools: true });
    expect(differences[0]?.varied).toBe('nothing (the same run gives a different result when repeated)');
  });
});

test('an environment variable of one member reaches no other member', async () => {
  const names = ['ann', 'ben', 'lead'];
  const environment = (leaks: boolean): Environment => ({
    variablesOf: ({ name }) => [`KEY of ${name}`],
    fill: ({ name }, valueOf) => (leaks ? names : [name]).map((one) => valueOf(`KEY of ${one}`)),
  });
  const check = (leaks: boolean) =>
    checkIsolation({ agent: team(), environment: environment(leaks) }, { pairs: 60, seed: 5 });
  expect(await check(false)).toMatchObject({ ok: true });
  const { differences } = await check(true);
  expect(differences[0]?.sink).toMatch(/: environment$/u);
  expect(differences[0]?.varied).toMatch(/\(its instructions\)$/u);
});

describe('a team file', () => {
  const file = (...lines: readonly string[]): string =>
    ['---', 'description: Works.', 'usage: Go.', 'output: { format: text }', ...lines, '---', 'Work.'].join('\n');
  const folder = (coordinator: string) =>
    newFolder({
      'ann.ai': file('models: openai/gpt-4o', 'tools: [send_message, mail]'),
      'ben.ai': file('models: house/small'),
      'cleo.ai': file('models: house/small'),
      'team.yaml': `name: crew\nagents: [ann, ben]\nmessages: true\n${coordinator}`,
      '.ai-agent.json': JSON.stringify({
        providers: {
          openai: { type: 'openai', apiKey: '${OPENAI_KEY}' },
          house: { type: 'openai-compatible', baseUrl: 'http://localhost/v1', apiKey: '${HOUSE_KEY}' },
        },
        mcpServers: { mail: { type: 'stdio', command: 'no-such-command', env: { TOKEN: '${MAIL_TOKEN}' } } },
      }),
    });
  const verify = (path: string, agents: readonly string[] = []) =>
    verifyAgent({ agent: path, agents, pairs: 30, seed: 4, signal: new AbortController().signal, progress: () => {} });

  test('is verified without a key, a server or a provider', async () => {
    const path = join(folder('coordinator: { models: [openai/gpt-4o], prompt: You lead. }'), 'team.yaml');
    const report = await verify(path);
    expect(report).toMatchObject({ ok: true, agent: 'crew', pairs: 30, seed: 4, differences: [] });
    expect(report.notes[0]).toBe(
      'The tools of the server "mail" are made up, because only the server itself could list them.',
    );
    // Other agents may be passed as well.
    expect(await verify(path, [join(path, '../cleo.ai')])).toMatchObject({ ok: true, agent: 'crew' });
  });

  test('with an error is reported with its line', async () => {
    await expect(verify(join(folder('parallel: none'), 'team.yaml'))).rejects.toThrow(/team\.yaml:4 parallel/u);
  });
});
