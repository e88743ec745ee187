// What an agent that is spawned has at most: the limits that its parent's definition sets, and those that its parent inherited.
import { describe, expect, test } from 'vitest';
import type { Agent, AgentOptions } from 'cloister';
import type { ScriptedReply } from '#testkit';
import { agent, always, ask, call, lines, tool } from '../session/driver.ts';

const echo = tool('echo', () => 'heard');
const patient = { maxToolTurns: 100, contextTokensMax: 1_000_000 };
const spawning = ['spawn_agent', 'receive_message'] as const;

/** Every agent works for as long as it may, except the root, which waits for the others. */
const runTeam = async (root: Agent, starts: Readonly<Record<string, readonly ScriptedReply[]>>) => {
  const wait = call('receive_message', { timeout_ms: 10_000 });
  const says = [
    ...lines(Object.fromEntries(Object.entries(starts).map(([name, calls]) => [name, [...calls, wait, 'Done.']]))),
    always(call('echo')),
  ];
  const asked = await ask(root, { says });
  const cellsOf = (name: string) => asked.report.cells.filter((one) => one.agent === name);
  const requested = (await asked.cloister.protocol(asked.report.run)).filter(({ topic }) => topic === 'agent.spawn');
  return { ...asked, cellsOf, requested };
};

const spawn = (name: string, more: object = {}) =>
  call('spawn_agent', { agent_id: name, initial_message: 'Echo.', ...more });

const parent = (name: string, children: readonly Agent[], more: Partial<AgentOptions> = {}): Agent =>
  agent(name, { tools: [...spawning, echo], spawns: { agents: [...children, 'self'], templates: true }, ...more });

const worker = (limits: AgentOptions['limits']): Agent =>
  agent('worker', { tools: [echo], limits: { ...patient, ...limits } });

test.for<[what: string, parent: AgentOptions['limits'], child: AgentOptions['limits'], steps: number]>([
  ['no more than its parent’s file sets', { max_steps: 3 }, { max_steps: 9 }, 3],
  ['no more than that if its own file sets nothing', { max_steps: 3 }, {}, 3],
  ['no more than its own file sets', { max_steps: 9 }, { max_steps: 3 }, 3],
  ['more than its parent’s default', {}, { max_steps: 30 }, 30],
  ['its own default if that is less', { max_steps: 30 }, {}, 20],
])('a spawned agent has %s', async ([, limits, own, steps]) => {
  const root = parent('root', [worker(own)], { limits: limits! });
  const { cellsOf, requests } = await runTeam(root, { root: [spawn('worker')] });
  const [cell] = cellsOf('worker');
  expect(cell!.outcome).toMatchObject({ status: 'limit', failure: { limit: 'max_steps' } });
  expect(cell!.own.steps).toBe(steps);
  expect(requests.at(-1)!.text).toContain('worker has ended (message_type: result, status: limit). Error (limit):');
  expect(requests.at(-1)!.text).toContain('Limit: max_steps.');
});

test('an agent that is called keeps the limits of its own file', async () => {
  const root = agent('root', { agents: [worker({ max_steps: 9 })], tools: [echo], limits: { max_steps: 3 } });
  const { report } = await ask(root, {
    says: [...lines({ root: [call('worker', { prompt: 'Echo.' }), 'Done.'] }), always(call('echo'))],
  });
  expect(report.cells.find((cell) => cell.agent === 'worker')!.own.steps).toBe(9);
});

test('limits are inherited through agents that set none of their own', async () => {
  const middle = parent('middle', [worker({ max_steps: 90 })], { limits: { max_steps: 50 } });
  const root = parent('root', [middle], { limits: { max_steps: 30 } });
  const { cellsOf } = await runTeam(root, { root: [spawn('middle')], middle: [spawn('worker')] });
  expect(cellsOf('worker')[0]!.own.steps).toBe(30);
});

test('what an agent inherits is passed on, even if its own default is less', async () => {
  const middle = parent('middle', [worker({ max_steps: 90 })]);
  const root = parent('root', [middle], { limits: { max_steps: 25 } });
  const { cellsOf } = await runTeam(root, { root: [spawn('middle')], middle: [spawn('worker')] });
  expect(cellsOf('worker')[0]!.own.steps).toBe(25);
});

test('copies and templates have no more than their parent', async () => {
  const root = parent('root', [], { limits: { ...patient, max_steps: 5, timeout_ms: 40_000 } });
  const template = { prompt: 'You echo.', tools: ['echo'] };
  const { cellsOf, requested } = await runTeam(root, { root: [spawn('self'), spawn('echoer', { template })] });
  expect(cellsOf('echoer')[0]!.own.steps).toBe(5);
  expect(cellsOf('root')).toHaveLength(2);
  expect(requested.map(({ payload }) => payload)).toMatchObject([{ timeout_ms: 40_000 }, { timeout_ms: 40_000 }]);
});

test('a parent’s contextTokensMax and maxOutputTokens apply where the child has only its model’s', async () => {
  const child = agent('worker', { tools: [echo] });
  const root = parent('root', [child], { limits: { contextTokensMax: 9_000, maxOutputTokens: 700 } });
  const { requests } = await runTeam(root, { root: [spawn('worker')] });
  const own = requests.find(({ text }) => text.includes('agent \\"worker\\"'));
  expect(own!.options.maxOutputTokens).toBe(700);
});

describe('a call may give an agent less than it has', () => {
  const [look, dig] = [tool('look', () => 'seen'), tool('dig', () => 'dug')];
  const miner = agent('miner', { tools: [look, dig, echo], limits: { timeout_ms: 50_000 } });

  /** The same restriction in a call and in `spawn_agent`: what the agent is shown, and what is recorded of it. */
  const start = async (how: 'call' | 'spawn', options: object, child = miner) => {
    const root = agent(
      'root',
      how === 'call' ? { agents: [child] } : { tools: [...spawning], spawns: { agents: [child] } },
    );
    const task =
      how === 'call' ? call(child.signature.modelToolName, { prompt: 'Dig.', ...options }) : spawn(child.name, options);
    const rest = how === 'call' ? [] : [call('receive_message', { timeout_ms: 1_000 })];
    const asked = await ask(root, { says: [...lines({ root: [task, ...rest] }), always('Done.')] });
    const own = asked.requests.find(({ text }) => text.includes(`agent \\"${child.name}\\"`));
    const requested = (await asked.cloister.protocol(asked.report.run)).find(({ topic }) => topic === 'agent.spawn');
    const replayed = await asked.cloister.replay(asked.report.run);
    expect(replayed.ok).toBe(true);
    return { ...asked, own, payload: requested?.payload, tools: own?.options.tools?.map(({ name }) => name) };
  };

  test.for(['call', 'spawn'] as const)('fewer tools, by %s: its model is shown those alone', async (how) => {
    const { tools, own, payload } = await start(how, { tools: ['dig'] });
    expect(tools).toEqual(['dig', 'read_output']);
    expect(own!.text).toContain('Available tools: dig, read_output.');
    expect(payload).toMatchObject({ tools: ['dig', 'read_output'] });
    expect((await start(how, { tools: [] })).own!.text).toContain('You have no tools.');
  });

  // invariant: spawn-asks-for-less
  test.for(['call', 'spawn'] as const)('a tool it does not have is refused, by %s', async (how) => {
    const { own, requests } = await start(how, { tools: ['dig', 'fly'] });
    expect(own).toBeUndefined();
    expect(requests.at(how === 'call' ? -1 : 1)!.text).toMatch(
      /miner has no tool \\+"fly\\+"; it has: look, dig, echo\./u,
    );
  });

  // invariant: spawn-asks-for-less
  test.for(['call', 'spawn'] as const)('a shorter timeout_ms, by %s; a longer one has no effect', async (how) => {
    expect((await start(how, { timeout_ms: 2_000 })).payload).toMatchObject({ timeout_ms: 2_000 });
    expect((await start(how, { timeout_ms: 90_000 })).payload).toMatchObject({ timeout_ms: 50_000 });
  });

  test('a longer timeout_ms is not inherited by the agents that the called one spawns', async () => {
    const digger = agent('digger', { limits: { timeout_ms: 900_000 } });
    const foreman = agent('foreman', { tools: [...spawning], spawns: { agents: [digger] } });
    const { requested } = await runTeam(agent('root', { tools: ['receive_message'], agents: [foreman] }), {
      root: [call('foreman', { prompt: 'Dig.', timeout_ms: 700_000 })],
      foreman: [spawn('digger')],
      digger: [],
    });
    expect(requested.map(({ payload }) => payload)).toMatchObject([{ timeout_ms: 600_000 }, { timeout_ms: 900_000 }]);
  });

  test('an agent whose input has a property of that name gets it as input', async () => {
    const schema = { type: 'object', properties: { timeout_ms: { type: 'integer' } }, additionalProperties: false };
    const clock = agent('clock', { tools: [look, dig], input: { format: 'json', schema } });
    const says = [...lines({ root: [call('clock', { timeout_ms: 5, tools: ['dig'] })] }), always('Done.')];
    const { requests, report, cloister } = await ask(agent('root', { agents: [clock] }), { says });
    const own = requests.find(({ text }) => text.includes('agent \\"clock\\"'))!;
    expect(own.options.prompt.at(-1)).toMatchObject({ content: [{ text: 'Your task: {"timeout_ms":5}' }] });
    expect(own.options.tools?.map(({ name }) => name)).toEqual(['dig', 'read_output']);
    const [requested] = await cloister.protocol(report.run);
    expect(requested!.payload).toMatchObject({ timeout_ms: 600_000 });
  });

  test('what the caller is shown does not depend on the tools that the agent has', async () => {
    const shown = async (...tools: readonly (typeof look)[]) => {
      const { requests } = await start('call', {}, agent('miner', { tools }));
      return JSON.stringify([requests[0]!.options.tools, requests[0]!.text]);
    };
    expect(await shown(look)).toBe(await shown(dig, echo));
  });
});
