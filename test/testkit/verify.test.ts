// What `cloister verify` does: agents from files, without a key, a server or a provider.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectIsolated } from 'cloister/testkit';
import { verifyAgent } from '../../src/app/verify.ts';
import { loadSubject } from '../../src/app/verify-subject.ts';
import { newFolder } from './folders.ts';

const verify = (agent: string, more: { agents?: readonly string[]; pairs?: number; seed?: number } = {}) =>
  verifyAgent({
    agent,
    agents: [],
    pairs: 40,
    signal: new AbortController().signal,
    progress: () => {},
    ...more,
  });

const agentFile = (...lines: readonly string[]): string =>
  ['---', 'description: Works.', 'usage: Go.', 'output: { format: text }', ...lines, '---', 'Work.'].join('\n');

const config = {
  providers: {
    openai: { type: 'openai', apiKey: '${OPENAI_KEY}' },
    house: { type: 'openai-compatible', baseUrl: 'http://${HOUSE:-localhost}/v1', apiKey: '${HOUSE_KEY}' },
  },
  mcpServers: {
    mail: { type: 'stdio', command: 'no-such-command', env: { TOKEN: '${MAIL_TOKEN}' } },
    web: {
      type: 'http',
      url: 'https://web.invalid/mcp',
      headers: { authorization: 'Bearer ${WEB_TOKEN}' },
      tools: ['find'],
    },
    kit: { type: 'module', module: './kit.mjs' },
  },
};

/** Two agents that name different providers and servers; nothing of them can be reached. */
const team = () =>
  newFolder({
    'lead.ai': agentFile(
      'models: [openai/gpt-4o, house/big]',
      'agents: helper',
      'tools: [web, kit/look]',
      'gather: 30s',
    ),
    'helper.ai': agentFile('models: house/small', 'tools: [mail, write_file]', 'budget: { usd: 0 }'),
    '.ai-agent.json': JSON.stringify(config),
    'kit.mjs': 'throw new Error("A module of the operator was run.");',
  });

const notes = [
  'What the tools of the server "web" take is made up: only the server itself could say.',
  'What the tools of the server "kit" take is made up: only the server itself could say.',
  'The tools of the server "mail" are made up: only the server itself could list them.',
];

describe('an agent file', () => {
  test('is verified beside other files that are given, which may hold it as well', async () => {
    const folder = team();
    const lead = join(folder, 'lead.ai');
    for (const agents of [[folder], [lead, folder], [join(folder, 'helper.ai')]]) {
      const { agent, ok, pairs } = await verify(lead, { agents, pairs: 5 });
      expect({ agent, ok, pairs }).toEqual({ agent: 'lead', ok: true, pairs: 5 });
    }
    await expect(verify('nobody.ai', { agents: [folder] })).rejects.toThrow('There is no file');
  });

  test('is verified with all that it calls, and nothing that it names is reached', async () => {
    const path = join(team(), 'lead.ai');
    const report = await verify(path, { seed: 11 });
    expect(report).toMatchObject({ ok: true, agent: 'lead', pairs: 40, seed: 11, differences: [] });
    expect(new Set(report.notes)).toEqual(new Set(notes));
    expect(await verify(path, { seed: 11 })).toEqual(report);
  });

  test('is found by its name among the agents given', async () => {
    expect(await verify('helper', { agents: [team()], pairs: 3 })).toMatchObject({ ok: true, agent: 'helper' });
    await expect(verify('nobody', { agents: [team()] })).rejects.toThrow(/"nobody" is not one of: helper, lead/u);
  });

  test('can be expected to be isolated in a test', async () => {
    expect(await expectIsolated({ agents: ['lead.ai'], cwd: team() }, { pairs: 20 })).toMatchObject({ agent: 'lead' });
  });

  test('that names what the config does not have is told so', async () => {
    const folder = newFolder({ 'lost.ai': agentFile('models: nowhere/x') });
    await expect(verify(join(folder, 'lost.ai'))).rejects.toThrow(/No provider "nowhere" is configured/u);
  });

  test('that breaks the rules is told with its line', async () => {
    const folder = newFolder({ 'bad.ai': agentFile('models: openai/gpt-4o', 'tols: [x]') });
    await expect(verify(join(folder, 'bad.ai'))).rejects.toThrow(/bad\.ai:6 tols/u);
  });
});

describe('an example', () => {
  test('is verified by its name', async () => {
    expect(await verify('research')).toMatchObject({ ok: true, agent: 'lead', differences: [] });
  });

  test('that has no agent files says so', async () => {
    await expect(verify('hello')).rejects.toThrow(/The example "hello" makes its agents while it runs/u);
  });

  test('that there is not: those that there are', async () => {
    await expect(verify('resarch')).rejects.toThrow(/no example "resarch"\. Examples: .*research/u);
  });
});

describe('the environment', () => {
  const subjectIn = (cwd: string) =>
    loadSubject(
      { agents: ['lead.ai'], agent: 'lead' },
      { cwd, home: cwd, env: { OPENAI_KEY: 'sk-true-key', PATH: '/bin' } },
    );

  test('is made by the real code from made-up values: each agent is told its own variables only', async () => {
    const { agent: lead, environment } = await subjectIn(team());
    const helper = lead.agents[0]!;
    const told = (agent: typeof lead) => JSON.stringify(environment!.fill(agent, (slot) => `<${slot}>`));
    expect(environment!.slotsOf(lead)).toEqual([
      'OPENAI_KEY (the shell)',
      'HOUSE_KEY (not set)',
      'WEB_TOKEN (not set)',
    ]);
    expect(environment!.slotsOf(helper)).toEqual(['HOUSE_KEY (not set)', 'MAIL_TOKEN (not set)']);
    expect(told(lead)).toContain('"authorization":"Bearer <WEB_TOKEN (not set)>"');
    expect(told(lead)).toContain('"baseUrl":"http://localhost/v1"');
    expect(told(helper)).toContain('"TOKEN":"<MAIL_TOKEN (not set)>"');
    expect(told(helper)).not.toMatch(/OPENAI|WEB/u);
    expect(told(lead) + told(helper)).not.toContain('sk-true-key');
  });

  test('with facts of the models that the price list or the config knows', async () => {
    const { agent, factsOf } = await subjectIn(team());
    expect(factsOf!(agent, 'openai/gpt-4o').price).toMatchObject({ input: expect.any(Number) });
    expect(factsOf!(agent, 'house/big')).toEqual({});
  });
});
