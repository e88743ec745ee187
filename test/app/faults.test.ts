import { expect, test } from 'vitest';
import { agentHelp } from '../../src/app/agents/agent-help.ts';
import { probeServers } from '../../src/app/agents/probe-servers.ts';
import { agent } from '../core/session/driver.ts';
import { ai, check, createFolders, load, open, problemLines } from './driver.ts';

test.each([
  '{ type: strin }',
  '{ type: 5 }',
  '{ properties: 5 }',
  '{ properties: { a: 5 } }',
  '{ required: x }',
  "{ pattern: '(' }",
  '{ enum: 3 }',
  '{ minLength: many }',
  '{ items: text }',
])('output.schema %s is not a schema, and the file is refused', async (schema) => {
  const folders = createFolders({
    'lead.ai': ai().replace('output: { format: text }', `output: { format: json, schema: ${schema} }`),
  });
  expect(problemLines(await load(folders, 'lead.ai'))).toEqual([
    expect.stringMatching(/^lead\.ai:4 output\.schema: This schema cannot be used: /u),
  ]);
});

test('a name of 300 characters is a problem of its file, not a crash', async () => {
  const folders = createFolders({ 'lead.ai': ai(`agents: ${'x'.repeat(300)}`) });
  expect(problemLines(await load(folders, 'lead.ai'))).toEqual([
    expect.stringMatching(/^lead\.ai:5 agents: No agent/u),
  ]);
});

test('help says for each default which of two configs it came from', async () => {
  const folders = createFolders({
    'lead.ai': ai(),
    '.ai-agent.json': { defaults: { temperature: 0.5 } },
    '~/.ai-agent/.ai-agent.json': { defaults: { topP: 0.25 } },
  });
  const { template } = await agentHelp('lead.ai', folders);
  const near = (key: string) => {
    const all = template.split('\n');
    const at = all.findIndex((line) => line.startsWith(`${key}:`));
    return all.slice(at - 1, at + 1).join(' ');
  };
  expect(near('temperature')).toContain('work/.ai-agent.json');
  expect(near('topP')).toContain('home/.ai-agent/.ai-agent.json');
});

test('loading many modules leaves no listeners behind', async () => {
  const before = process.listenerCount('beforeExit');
  const folders = createFolders({
    'lead.ai': ai('tools: m'),
    'm.mjs': 'export default []',
    '.ai-agent.json': { mcpServers: { m: { module: './m.mjs' } } },
  });
  await load(folders, 'lead.ai').catch(() => undefined);
  expect(process.listenerCount('beforeExit')).toBe(before);
});

test('check names the patterns of tool schemas that only the tools check', async () => {
  const schema = { type: 'object', properties: { q: { pattern: '^(?!x)' }, r: { pattern: '^a+$' } } };
  const folders = createFolders({
    'lead.ai': ai('tools: [docs/find]'),
    'docs.mjs': `const inputSchema = ${JSON.stringify(schema)};
      export default ['find', 'other'].map((name) => ({ name, description: 'd', inputSchema, execute: () => '' }));`,
    '.ai-agent.json': { mcpServers: { docs: { module: './docs.mjs' } } },
  });
  const { ok, warnings } = await check(folders, ['lead.ai'], { connect: true });
  expect(ok).toBe(true);
  expect(warnings.filter(({ code }) => code === 'pattern-unchecked')).toEqual([
    {
      code: 'pattern-unchecked',
      agent: 'lead',
      message: 'docs/find: /properties/q/pattern: the pattern uses a look-ahead "(?!". It is left to the tool.',
    },
  ]);
});

test('a source whose close needs `this` can be tried', async () => {
  class Listed {
    tools = [];
    closed = false;
    async close() {
      this.closed = true;
    }
  }
  const listed = new Listed();
  const lead = agent('lead', { tools: [{ name: 'docs', list: async () => listed }], models: ['ollama/x'] });
  const folders = createFolders();
  const registry = await load(folders, lead);
  expect((await probeServers(registry.agents, registry.resolver, registry.configs)).problems).toEqual([]);
  expect(listed.closed).toBe(true);
});

test('a broken module does not hide problems in files', async () => {
  const folders = createFolders({ 'team.mjs': 'throw new Error("x")', 'lead.ai': ai('tols: x') });
  const problems = problemLines(await check(folders, ['team.mjs', 'lead.ai']));
  expect(problems).toHaveLength(2);
});

test('a missing variable of a server points at tools', async () => {
  const folders = createFolders({
    'lead.ai': ai('tools: files'),
    '.ai-agent.json': { mcpServers: { files: { command: 'x', env: { T: '${FILES_TOKEN}' } } } },
  });
  expect(problemLines(await load(folders, 'lead.ai'))[0]).toMatch(/^lead\.ai:5 tools: Missing/u);
});

test('defaults.agents has an effect, or is refused', async () => {
  const folders = createFolders({
    'lead.ai': ai(),
    'helper.ai': ai('agents: []'),
    '.ai-agent.json': { defaults: { agents: ['helper'] } },
  });
  const { agents, problems } = await load(folders, 'lead.ai');
  expect(problems.length + agents[0]!.children.agents.length).toBeGreaterThan(0);
});

test('defaults.toolName and defaults.description are refused: they belong to one agent', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: [a, b]'),
    'a.ai': ai(),
    'b.ai': ai(),
    '.ai-agent.json': { defaults: { toolName: 'x' } },
  });
  expect(problemLines(await load(folders, 'lead.ai'))).toEqual([expect.stringContaining('defaults.toolName')]);
});

test('a server named by many agents is tried with bounded concurrency', async () => {
  let [now, most] = [0, 0];
  const docs = {
    name: 'docs',
    list: async () => {
      most = Math.max(most, ++now);
      await new Promise((r) => setTimeout(r, 5));
      now--;
      return { tools: [] };
    },
  };
  const agents = Array.from({ length: 200 }, (_, at) => agent(`a${at}`, { tools: [docs], models: ['ollama/x'] }));
  const folders = createFolders();
  const registry = await load(folders, ...agents);
  await probeServers(registry.agents, registry.resolver, registry.configs);
  expect(most).toBeLessThan(50);
});

test('agents of the same name in two folders may call each other', async () => {
  const folders = createFolders({ 'a/lead.ai': ai('agents: ../b/lead.ai'), 'b/lead.ai': ai('toolName: other') });
  const says = [
    { when: { turn: 1, text: 'Ask' }, reply: { calls: [{ tool: 'other', args: { prompt: 'Go' } }] } },
    { reply: '{{results}}' },
  ];
  const { cloister } = await open(folders, ['a/lead.ai'], { says });
  expect((await cloister.run('lead', 'Ask').outcome).output).not.toContain('cannot call one of its own callers');
});

test('an invalid base URL after substitution is found at load time', async () => {
  const folders = createFolders(
    {
      'lead.ai': ai('models: mine/x'),
      '.ai-agent.json': { providers: { mine: { type: 'openai-compatible', baseUrl: '${U}' } } },
    },
    { env: { U: 'nonsense' } },
  );
  expect(problemLines(await load(folders, 'lead.ai'))).toHaveLength(1);
});
