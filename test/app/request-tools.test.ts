// Tools that come with one request for a run.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister, RunOptions, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { scriptAgents } from '../headends/client-tools/scripted-agents.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const weather = (more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: { type: 'object' },
  execute: (args) => `sun in ${args['text'] as string}`,
  ...more,
});

const openAgents = (agents: readonly Agent[]): Promise<Cloister> => openCloister({ agents, store: 'memory' });

test.each<[string, RunOptions]>([
  ['text', {}],
  ['JSON', { schema: { type: 'string' } }],
])(
  'a run has request tools besides the agent’s own, and is audited and replayed like any other: %s',
  async (_form, more) => {
    const model = rehearse([
      {
        when: { turn: 1 },
        reply: {
          calls: [
            { tool: 'weather', args: { text: 'Rome' } },
            { tool: 'own', args: {} },
          ],
        },
      },
      { reply: ({ toolResults }) => JSON.stringify(toolResults.map(({ text }) => text).join(' & ')) },
    ]);
    const own = weather({ name: 'own', execute: () => 'own' });
    const agent = defineAgent({
      name: 'one',
      description: 'd',
      prompt: 'p',
      models: [model],
      tools: [own, 'read_file'],
    });
    await using cloister = await openAgents([agent]);
    for (const timed of [{}, { timeoutMs: 1e9 }]) {
      const tools = [weather(timed)];
      const { run, output } = await cloister.run('one', 'Go.', { ...more, tools }).outcome;
      expect(output).toBe('"sun in Rome & own"');
      expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
      expect(await cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
      await expect(cloister.fork(run, { at: `${(await cloister.show(run)).cells[0]!.cell}/0` })).rejects.toMatchObject({
        code: 'tools_gone',
      });
    }
    // The next run does not have the request's tools.
    expect((await cloister.run('one', 'Go.').outcome).output).toContain('\\"weather\\" is not one of');
  },
);

// invariant: request-tools-root-only
test('agents that the agent asks or starts do not have request tools, not even instances of the same agent', async () => {
  const offered = new Map<string, Set<string>>();
  const model = rehearse([
    {
      reply: ({ agent, goal, tools, turn }) => {
        const key = `${agent} ${goal}`;
        offered.set(key, new Set([...(offered.get(key) ?? []), ...tools]));
        if (goal !== 'Go.' || turn > 2) return 'Done.';
        if (turn === 2) return { calls: [{ tool: 'receive_message', args: {} }] };
        return {
          calls: [
            { tool: 'child', args: { prompt: 'Help.', reason: 'r' } },
            { tool: 'spawn_agent', args: { agent_id: 'self', initial_message: 'Be me.' } },
            {
              tool: 'spawn_agent',
              args: { agent_id: 'new', initial_message: 'Be new.', template: { prompt: 'p', tools: ['weather'] } },
            },
          ],
        };
      },
    },
  ]);
  const agent = (name: string, more: object): Agent =>
    defineAgent({ name, description: 'd', prompt: 'p', models: [model], ...more });
  const lead = agent('lead', {
    agents: [agent('child', {})],
    tools: ['spawn_agent', 'receive_message'],
    spawns: { agents: ['self'], templates: true },
  });
  await using cloister = await openAgents([lead]);
  const { run, status } = await cloister.run('lead', 'Go.', { tools: [weather()] }).outcome;
  expect(status).toBe('completed');
  expect([...offered.keys()].toSorted()).toEqual(['child Help.', 'lead Be me.', 'lead Go.']);
  const having = [...offered].filter(([, tools]) => tools.has('weather')).map(([who]) => who);
  expect(having).toEqual(['lead Go.']);
  expect(await cloister.audit(run)).toMatchObject({ ok: true });
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
});

test.each<[string, unknown, string]>([
  ['something other than a list', 'weather', 'tools: expected a list of tools'],
  ['no tools', ['weather'], 'tools[0]: expected a tool'],
  ['a tool without a function', [{ ...weather(), execute: 1 }], 'tools[0].execute: expected a function'],
  ['a text for the system prompt', [weather({ instructions: 'Obey.' })], 'tools.weather.instructions: expected none'],
  ['a repeatable tool', [weather({ repeat: 'free' })], 'tools.weather.repeat: expected never'],
  ['an invalid schema', [weather({ inputSchema: { type: 'shoe' } })], 'tools.weather.inputSchema: expected a JSON'],
  ['a name that is taken', [weather({ name: 'own' })], 'it already has "own"'],
  ['a server’s name', [weather({ name: 'maps__near' })], 'it already has "maps__near"'],
])('%s is refused before anything runs', async (_what, tools, words) => {
  const source = { name: 'maps', list: async () => ({ tools: [] }) };
  const own = weather({ name: 'own' });
  const model = rehearse([{ reply: 'Done.' }]);
  const agent = defineAgent({ name: 'one', description: 'd', prompt: 'p', models: [model], tools: [own, source] });
  await using cloister = await openAgents([agent]);
  expect(() => cloister.run('one', 'Go.', { tools: tools as readonly ToolDefinition[] })).toThrow(
    expect.objectContaining({ code: 'options_invalid', message: expect.stringContaining(words) }),
  );
  expect(await cloister.runs()).toEqual([]);
});

test('a run that was interrupted with request tools cannot be resumed, and the error names them', async () => {
  await using folder = await temporaryFolder();
  const peer = fileURLToPath(new URL('./request-tools-peer.ts', import.meta.url));
  const args = ['--conditions=cloister-source', peer, folder.path];
  const killed = await new Promise((resolve) => void execFile(process.execPath, args, resolve));
  expect(killed).toMatchObject({ signal: 'SIGKILL' });
  await using cloister = await openCloister({ agents: scriptAgents().agents, workspace: folder.path });
  const [run] = await cloister.runs();
  expect(run).toMatchObject({ state: 'interrupted' });
  await expect(cloister.resume(run!.run)).rejects.toMatchObject({
    code: 'tools_gone',
    message: expect.stringContaining('Agent "guide" was given these tools: weather.'),
  });
  expect(await cloister.audit(run!.run)).toMatchObject({ ok: true });
  expect(await cloister.replay(run!.run)).toMatchObject({ ok: true });
});

// invariant: request-tools-replace-nothing
test('request tools’ texts are labelled as coming from outside, and none of them is in the agent’s own prompt', async () => {
  const own = weather({ name: 'own', description: 'Its own.' });
  const model = rehearse([{ reply: 'Done.' }]);
  const agent = defineAgent({ name: 'one', description: 'd', prompt: 'p', models: [model], tools: [own] });
  await using cloister = await openAgents([agent]);
  const { run, cell } = await cloister.run('one', 'Go.', { tools: [weather()] }).outcome;
  const { segments } = await cloister.explain(run, cell);
  const given = segments.filter(({ text }) => text.includes('weather'));
  expect(given.map(({ trail }) => trail)).toEqual([[expect.objectContaining({ type: 'definition', given: true })]]);
  const theirs = segments.filter(({ text }) => text.includes('Its own.'));
  expect(theirs.flatMap(({ trail }) => trail)).toEqual([expect.not.objectContaining({ given: true })]);
});

// invariant: request-tools-replace-nothing
test.for([
  ['WEATHER', 'weather'],
  ['Own', 'own'],
  ['Read_Output', 'read_output'],
])('a name that differs from another only by case is refused: %s', async ([name]) => {
  const agent = defineAgent({
    name: 'one',
    description: 'd',
    prompt: 'p',
    models: [rehearse([])],
    tools: [weather({ name: 'own' })],
  });
  await using cloister = await openAgents([agent]);
  const tools = [weather(), weather({ name: name! })].slice(name === 'WEATHER' ? 0 : 1);
  expect(() => cloister.run('one', 'Go.', { tools })).toThrow(/tools: expected/u);
});
