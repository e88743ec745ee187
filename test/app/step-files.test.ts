// The step files of a run on disk, as people find them: every start of an agent, every call with its arguments and what came of it.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defineAgent, defineTeam, openCloister } from 'cloister';
import type { Agent, LiveAgent, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { ScriptLine } from 'cloister/testkit';

/** Runs the agent to its end; returns the steps and outputs of the root cell. */
const runOnDisk = async (agent: Agent, goal = 'Go.') => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-steps-'));
  onTestFinished(() => rm(workspace, { recursive: true }));
  const cloister = await openCloister({ agents: [agent], workspace });
  const session = agent.team === null ? cloister.run(agent, goal) : cloister.runTeam(agent, goal);
  const outcome = await session.outcome;
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
  expect((await cloister.replay(session.run)).differences).toEqual([]);
  const { cells } = await cloister.show(session.run);
  await cloister.rebuild(session.run);
  await cloister.close();
  const folder = join(workspace, 'runs', session.run, cells[0]!.cell);
  const read = async (kind: string) =>
    Promise.all(
      (await readdir(join(folder, kind)).catch(() => []))
        .toSorted((one, other) => (one < other ? -1 : 1))
        .map(async (name) => ({
          name,
          text: await readFile(join(folder, kind, name), 'utf8'),
        })),
    );
  const history = (await read('history')).map(({ text }) => JSON.parse(text) as Record<string, any>);
  return { outcome, history, outputs: await read('outputs'), cells };
};

const calls = (tool: string, args: object): ScriptLine['reply'] => ({ calls: [{ tool, args: args as never }] });

/** Replies in order, then with `done`. */
const leadBy = (replies: readonly ScriptLine['reply'][], more: Partial<Parameters<typeof defineAgent>[0]> = {}) => {
  const model = rehearse([
    ...replies.map((reply): ScriptLine => ({ when: { agent: 'lead' }, reply, times: 1 })),
    { reply: 'done' },
  ]);
  const common = { prompt: 'Work.', models: [model] };
  const scout = defineAgent({ ...common, name: 'scout', description: 'Scouts.' });
  return { scout, lead: defineAgent({ ...common, name: 'lead', description: 'Leads.', ...more }) };
};

const faces = '😀'.repeat(60);

test('every start of an agent is one step: a called one, a spawned one, and one that waits for messages', async () => {
  const { scout } = leadBy([]);
  const { lead } = leadBy(
    [
      calls('scout', { prompt: faces }),
      calls('spawn_agent', { agent_id: 'scout', initial_message: `Look. ${faces}` }),
      calls('spawn_agent', { agent_id: 'scout' }),
      calls('spawn_agent', { agent_id: 'nobody' }),
    ],
    { agents: [scout], tools: ['spawn_agent'], spawns: { agents: [scout] } },
  );
  const { history, cells } = await runOnDisk(lead);
  const [, called, spawned, waiting] = cells.map(({ cell }) => cell);
  expect(history).toMatchObject([
    {
      tool_name: 'agent:spawn',
      minimal_args: { child_id: called },
      observation: `Spawned scout with goal: ${'😀'.repeat(50)}`,
    },
    {
      tool_name: 'agent:spawn',
      minimal_args: { child_id: spawned },
      observation: `Spawned scout with goal: Look. ${'😀'.repeat(44)}`,
    },
    {
      tool_name: 'agent:spawn',
      minimal_args: { child_id: waiting },
      observation: 'Spawned scout, which waits for messages',
    },
    { tool_name: 'spawn_agent', minimal_args: { agent_id: 'nobody' } },
  ]);
  expect(cells[0]!.own.steps).toBe(4);
});

test('a team has a step for its plan, for each task and for the answer', async () => {
  const tasks = [{ title: 'Facts', description: 'Find them.' }];
  const model = rehearse([{ when: { text: '# The team' }, reply: JSON.stringify({ tasks }) }, { reply: 'done' }]);
  const ann = defineAgent({ name: 'ann', description: 'Works.', prompt: 'Work.', models: [model] });
  const { history, cells } = await runOnDisk(
    defineTeam({ name: 'crew', description: 'A crew.', agents: [ann], coordinator: ann }),
    'Bees',
  );
  expect(history.map(({ tool_name, minimal_args, observation }) => [tool_name, minimal_args, observation])).toEqual([
    ['agent:spawn', { child_id: cells[1]!.cell }, expect.stringContaining('Spawned ann with goal: # Goal\nBees')],
    ['agent:spawn', { child_id: cells[2]!.cell }, expect.stringContaining('Spawned ann with goal: # Task: Facts')],
    ['agent:spawn', { child_id: cells[3]!.cell }, expect.stringContaining('Spawned ann with goal: # Goal\nBees')],
  ]);
});

test('the arguments of a call are an object, whatever the model wrote and however long it is', async () => {
  const { lead } = leadBy(
    [
      calls('write_file', { path: 'a.txt', content: `"${'x'.repeat(2_000)}\\` }),
      calls('note', { list: Array.from({ length: 400 }, (_, index) => index) }),
      calls('note', {}),
    ],
    {
      tools: [
        'write_file',
        { name: 'note', description: 'Notes.', inputSchema: { type: 'object' }, execute: () => 'ok' },
      ],
    },
  );
  const { history } = await runOnDisk(lead);
  expect(history.map(({ minimal_args: args }) => args)).toEqual([
    { path: 'a.txt', content: expect.stringMatching(/^"x{400,499}…$/u) },
    { list: expect.arrayContaining([0, 1, 2]) },
    {},
  ]);
});

test('what receive_message handed out is its observation', async () => {
  const { scout } = leadBy([]);
  const { lead } = leadBy(
    [
      calls('spawn_agent', { agent_id: 'scout', initial_message: 'Look.' }),
      calls('receive_message', {}),
      calls('shutdown_agent', { sub_agent_id: 'scout' }),
      calls('receive_message', { timeout_ms: 1 }),
      calls('receive_message', { from: ['nobody'] }),
    ],
    {
      tools: ['spawn_agent', 'receive_message', 'shutdown_agent'],
      spawns: { agents: [scout] },
      messages: ['children'],
    },
  );
  const { history } = await runOnDisk(lead);
  expect(history.map(({ tool_name, observation }) => [tool_name, observation])).toEqual([
    ['agent:spawn', 'Spawned scout with goal: Look.'],
    ['receive_message', 'Received 1 message.\nAnswer from scout: done'],
    ['shutdown_agent', expect.stringContaining('"success":true')],
    ['receive_message', 'Received 0 messages before the timeout.'],
    ['receive_message', 'Unknown agent "nobody".'],
  ]);
});

const page = (beginning: string): string => `${beginning}${'word '.repeat(4_000)}`;

const typedOutputs: readonly (readonly [extension: string, output: Awaited<ReturnType<ToolDefinition['execute']>>])[] =
  [
    ['html', page('<!doctype html>\n<html>')],
    ['html', page('\n<HTML lang="en">')],
    ['html', { type: 'text', value: page('<p>'), mediaType: 'Text/HTML; charset=utf-8' }],
    ['xml', page('<?xml version="1.0"?>')],
    ['svg', page('<svg xmlns="http://www.w3.org/2000/svg">')],
    ['svg', { type: 'text', value: page('<?xml version="1.0"?><svg>'), mediaType: 'image/svg+xml' }],
    ['md', { type: 'text', value: page('# '), mediaType: 'text/markdown' }],
    ['csv', { type: 'text', value: page('a,b\n'), mediaType: 'text/csv' }],
    ['json', { type: 'json', value: page('') }],
    ['json', { type: 'text', value: page('{}'), mediaType: 'application/ld+json' }],
    ['txt', page('<htmlish>')],
    ['txt', { type: 'text', value: page('<html>'), mediaType: 'text/plain' }],
    ['txt', page('see <html>')],
  ];

test('a long output is kept under the extension of its type, or of its beginning', async () => {
  let next = 0;
  const look: ToolDefinition = {
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object' },
    execute: () => typedOutputs[next++]![1],
  };
  const name = 'look_001.html';
  const { lead } = leadBy(
    [
      ...typedOutputs.map(() => calls('look', {})),
      calls('read_output', { name, bytes: 20 }),
      calls('list_files', {}),
      calls('write_file', { path: name, content: 'mine' }),
    ],
    { tools: [look, 'list_files', 'write_file'], limits: { maxToolTurns: 30 } },
  );
  const { history, outputs } = await runOnDisk(lead);
  const names = typedOutputs.map(([extension], index) => `look_${String(index + 1).padStart(3, '0')}.${extension}`);
  expect(outputs.map((file) => file.name)).toEqual(names);
  const [read, listed, written] = history.slice(-3);
  expect(history.slice(0, -3).map(({ outcome_ref: ref }) => ref)).toEqual(names.map((one) => `outputs/${one}`));
  // The agent reads it by that name, and can neither see nor replace the file.
  expect(read).toMatchObject({ success: true });
  expect(listed).toMatchObject({ observation: 'No files.' });
  expect(written).toMatchObject({ success: false, error: expect.stringContaining('file_refused') as string });
});

test('the live agents of a run include those that were called, each with its parent', async () => {
  const seen: LiveAgent[] = [];
  const look: ToolDefinition = {
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object' },
    execute: () => {
      seen.push(...session.agents());
      return 'seen';
    },
  };
  const model = rehearse([
    { when: { agent: 'lead' }, reply: calls('scout', { prompt: 'Look.' }), times: 1 },
    { when: { agent: 'scout' }, reply: calls('look', {}), times: 1 },
    { reply: 'done' },
  ]);
  const scout = defineAgent({ name: 'scout', description: 'Scouts.', prompt: 'p', models: [model], tools: [look] });
  const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'p', models: [model], agents: [scout] });
  await using cloister = await openCloister({ agents: [lead], store: 'memory' });
  const session = cloister.run(lead, 'Go.');
  await session.outcome;
  expect(seen).toMatchObject([
    { agent: 'lead', parent: null, status: 'running', mailbox: false },
    { agent: 'scout', parent: seen[0]!.cell, sub_agent_id: 'scout', status: 'running', mailbox: false },
  ]);
  expect(session.agents()).toEqual([]);
});
