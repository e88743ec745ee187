// What `cloister verify` does: agents from files, without a key, a server or a provider.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectIsolated } from 'cloister/testkit';
import { Configs } from '../../src/app/agents/configs.ts';
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

/** Two agents with different providers and servers, none of which can be reached. */
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
  'The parameters of the tools of the server "web" are made up, because only the server itself knows them.',
  'The parameters of the tools of the server "kit" are made up, because only the server itself knows them.',
  'The tools of the server "mail" are made up, because only the server itself could list them.',
];

describe('an agent file', () => {
  test('is verified together with other given files, even if they include it', async () => {
    const folder = team();
    const lead = join(folder, 'lead.ai');
    for (const agents of [[folder], [lead, folder], [join(folder, 'helper.ai')]]) {
      const { agent, ok, pairs } = await verify(lead, { agents, pairs: 5 });
      expect({ agent, ok, pairs }).toEqual({ agent: 'lead', ok: true, pairs: 5 });
    }
    await expect(verify('nobody.ai', { agents: [folder] })).rejects.toThrow('No file, agent or example');
  });

  test('is verified with all agents that it calls, without reaching any provider or server', async () => {
    const path = join(team(), 'lead.ai');
    const report = await verify(path, { seed: 11 });
    expect(report).toMatchObject({ ok: true, agent: 'lead', pairs: 40, seed: 11, differences: [] });
    expect(new Set(report.notes)).toEqual(new Set(notes));
    expect(await verify(path, { seed: 11 })).toEqual(report);
  });

  test('is found by name among the given agents', async () => {
    expect(await verify('helper', { agents: [team()], pairs: 3 })).toMatchObject({ ok: true, agent: 'helper' });
    await expect(verify('nobody', { agents: [team()] })).rejects.toThrow(/"nobody" is not one of: helper, lead/u);
  });

  test('can be checked with `expectIsolated`', async () => {
    expect(await expectIsolated({ agents: ['lead.ai'], cwd: team() }, { pairs: 20 })).toMatchObject({ agent: 'lead' });
  });

  test('that names something missing in the config is reported', async () => {
    const folder = newFolder({ 'lost.ai': agentFile('models: nowhere/x') });
    await expect(verify(join(folder, 'lost.ai'))).rejects.toThrow(/No provider "nowhere" is configured/u);
  });

  test('with an invalid key is reported with its line', async () => {
    const folder = newFolder({ 'bad.ai': agentFile('models: openai/gpt-4o', 'tols: [x]') });
    await expect(verify(join(folder, 'bad.ai'))).rejects.toThrow(/bad\.ai:6 tols/u);
  });
});

describe('an example', () => {
  test('is verified by name', async () => {
    expect(await verify('research')).toMatchObject({ ok: true, agent: 'lead', differences: [] });
  });

  test('without agent files is reported', async () => {
    await expect(verify('hello')).rejects.toThrow(/The example "hello" creates its agents at run time/u);
  });

  test('that does not exist is reported with the existing ones', async () => {
    await expect(verify('resarch')).rejects.toThrow(/example is named "resarch"\. Examples: .*research/u);
  });
});

describe('the environment', () => {
  const subjectIn = (cwd: string) =>
    loadSubject(
      { agents: ['lead.ai'], agent: 'lead' },
      new Configs({ cwd, home: cwd, env: { OPENAI_KEY: 'sk-true-key', PATH: '/bin' } }),
    );

  test('is computed by the real code from made-up values: each agent gets only its own variables', async () => {
    const { agent: lead, environment } = await subjectIn(team());
    const helper = lead.children.agents[0]!;
    const told = (agent: typeof lead) => JSON.stringify(environment!.fill(agent, (slot) => `<${slot}>`));
    expect(environment!.variablesOf(lead)).toEqual([
      'OPENAI_KEY (the shell)',
      'HOUSE_KEY (not set)',
      'WEB_TOKEN (not set)',
    ]);
    expect(environment!.variablesOf(helper)).toEqual(['HOUSE_KEY (not set)', 'MAIL_TOKEN (not set)']);
    expect(told(lead)).toContain('"authorization":"Bearer <WEB_TOKEN (not set)>"');
    expect(told(lead)).toContain('"baseUrl":"http://localhost/v1"');
    expect(told(helper)).toContain('"TOKEN":"<MAIL_TOKEN (not set)>"');
    expect(told(helper)).not.toMatch(/OPENAI|WEB/u);
    expect(told(lead) + told(helper)).not.toContain('sk-true-key');
  });

  test('includes the model facts from the price list or the config', async () => {
    const { agent, factsOf } = await subjectIn(team());
    expect(factsOf!(agent, 'openai/gpt-4o').price).toMatchObject({ input: expect.any(Number) });
    expect(factsOf!(agent, 'house/big')).toEqual({});
  });
});
