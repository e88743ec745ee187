// Running agents from files: deep and wide trees, few slots, stopped in the middle.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunEvent } from 'cloister';
import type { JsonObject } from '#base';
import { virtualClock } from '#testkit';
import type { ScriptedReply } from '#testkit';
import { calls, runUntilSettled } from '../core/session/driver.ts';
import { ai, createFolders, open } from './driver.ts';

const callRepeatedly = (name: string, width: number): ScriptedReply =>
  calls(...Array.from({ length: width }, (_, at) => ({ tool: name, args: { prompt: `Part ${at}` } })));

/** The maximum running in parallel, by their start and end events. */
const maxConcurrent = (
  events: readonly RunEvent[],
  begin: RunEvent['type'],
  end: RunEvent['type'],
  agent?: string,
): number => {
  let [now, most] = [0, 0];
  for (const event of events.filter((one) => agent === undefined || one.agent === agent)) {
    if (event.type === begin) most = Math.max(most, ++now);
    if (event.type === end) now--;
  }
  return most;
};

// invariant: slots-for-steps-only
test('depth 3, width 8, one model slot: all 585 sessions end, one request at a time', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: mid'),
    'mid.ai': ai('agents: low'),
    'low.ai': ai('agents: leaf'),
    'leaf.ai': ai(),
  });
  const says = [
    { when: { agent: 'lead', turn: 1 }, reply: callRepeatedly('mid', 8) },
    { when: { agent: 'mid', turn: 1 }, reply: callRepeatedly('low', 8) },
    { when: { agent: 'low', turn: 1 }, reply: callRepeatedly('leaf', 8) },
    { reply: 'Done.' },
  ];
  const { cloister, model } = await open(folders, ['lead.ai'], { says, concurrency: { models: 1 } });
  let [now, most] = [0, 0];
  const doStream = model.doStream.bind(model);
  model.doStream = async (call) => {
    most = Math.max(most, ++now);
    try {
      return await doStream(call);
    } finally {
      now--;
    }
  };
  const { outcome, run } = cloister.run('lead', 'Go');
  expect(await outcome).toMatchObject({ status: 'completed', output: 'Done.', missing: [] });
  const report = await cloister.show(run);
  expect(report.cells).toHaveLength(1 + 8 + 64 + 512);
  expect(new Set(report.cells.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(Math.max(...report.cells.map(({ depth }) => depth))).toBe(3);
  expect(most).toBe(1);
  expect(maxConcurrent(report.events, 'child-start', 'child-end', 'lead')).toBe(4);
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [], cells: 585 });
});

test.for<[what: string, config: JsonObject, deepest: number]>([
  ['three levels', {}, 3],
  ['as many levels as the config allows', { spawns: { depth: 4 } }, 4],
  ['as few levels as the config allows', { spawns: { depth: 1 } }, 1],
])(
  'agents can call each other over %s; the one that asks for more is told, and so is the operator',
  async ([, config, deepest]) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const folders = createFolders({
      'a.ai': ai('agents: b'),
      'b.ai': ai('agents: c'),
      'c.ai': ai('agents: d'),
      'd.ai': ai('agents: e'),
      'e.ai': ai('agents: f'),
      'f.ai': ai(),
      '.ai-agent.json': config,
    });
    const ask = (name: string, next: string) => ({ when: { agent: name, turn: 1 }, reply: callRepeatedly(next, 1) });
    const says = [...names.slice(1).map((next, index) => ask(names[index]!, next)), { reply: '{{results}}' }];
    const { cloister } = await open(folders, ['a.ai'], { says });
    const { outcome, run } = cloister.run('a', 'Go');
    const words = `Error (policy): The maximum nesting depth was reached. The limit is ${deepest}.`;
    expect((await outcome).output).toContain(words);
    const { cells, events } = await cloister.show(run);
    expect(cells.map(({ agent }) => agent)).toEqual(names.slice(0, deepest + 1));
    const paths = events.flatMap((event) =>
      event.type === 'tool-end' && event.path !== undefined ? [event.path] : [],
    );
    expect(paths).toEqual([names.slice(0, deepest + 2)]);
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  },
);

describe('tool calls of one turn', () => {
  const counting = `
    let [now, most] = [0, 0];
    const tool = (name, execute) => ({ name, description: name, inputSchema: { type: 'object' }, execute });
    const work = async () => {
      most = Math.max(most, ++now);
      for (let step = 0; step < 5; step++) await new Promise((resolve) => setImmediate(resolve));
      now--;
      return 'worked';
    };
    export default [tool('work', work), tool('most', () => 'most: ' + most)];`;

  test.each([
    ['4 in parallel', '', 4],
    ['one after the other, if the file says so', 'parallelToolCalls: false', 1],
    ['as many as the file says', 'parallelToolCalls: 7', 7],
  ])('run %s, and the rest wait', async (_, keys, most) => {
    const folders = createFolders({
      'lead.ai': ai(`tools: count${keys === '' ? '' : `\n${keys}`}`),
      'count.mjs': counting,
      '.ai-agent.json': { mcpServers: { count: { module: './count.mjs' } } },
    });
    const says = [
      { when: { turn: 1 }, reply: calls(...Array.from({ length: 10 }, () => 'count__work')) },
      { when: { turn: 2 }, reply: calls('count__most') },
      { reply: '{{results}}' },
    ];
    const { cloister } = await open(folders, ['lead.ai'], { says });
    const { outcome, run } = cloister.run('lead', 'Go');
    expect((await outcome).output).toContain(`most: ${most}`);
    const { events } = await cloister.show(run);
    expect(maxConcurrent(events, 'tool-start', 'tool-end')).toBe(most);
    expect(events.filter((event) => event.type === 'tool-end' && event.ok)).toHaveLength(11);
  });
});

describe('a child that is stopped', () => {
  /** A server that accepts requests and never answers; reports when one arrives, and when its client has disconnected. */
  const silent = async () => {
    const [requested, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const server = createServer((request) => {
      request.resume();
      request.socket.once('close', () => left.resolve());
      requested.resolve();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    return { url, requested: requested.promise, left: left.promise };
  };

  test('while it connects to a tool server, by cancelling the run: it disconnects, and every session ends as cancelled', async () => {
    const { url, requested, left } = await silent();
    const folders = createFolders({
      'lead.ai': ai('agents: mid'),
      'mid.ai': ai('agents: helper'),
      'helper.ai': ai('tools: web'),
      '.ai-agent.json': { mcpServers: { web: { url } } },
    });
    const says = [
      { when: { agent: 'lead', turn: 1 }, reply: callRepeatedly('mid', 1) },
      { when: { agent: 'mid', turn: 1 }, reply: callRepeatedly('helper', 1) },
    ];
    const { cloister, model } = await open(folders, ['lead.ai'], { says });
    const session = cloister.run('lead', 'Go');
    await requested;
    session.cancel();
    expect(await session.outcome).toMatchObject({ status: 'cancelled', failure: { code: 'cancelled' } });
    await left;
    const { cells } = await cloister.show(session.run);
    expect(cells.map(({ agent, status }) => `${agent} ${status}`)).toEqual(
      ['lead', 'mid', 'helper'].map((name) => `${name} cancelled`),
    );
    expect(model.requests).toHaveLength(2);
    expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
  });

  const hanging = `export default [{ name: 'wait', description: 'Waits.', inputSchema: { type: 'object' }, execute: () => new Promise(() => {}) }];`;

  test.each([
    [
      'when its time is up',
      'budget: { time: 5s }',
      'timeout',
      /Error \(timeout\): The deadline has passed\. Limit: deadline\. Allow more time/u,
    ],
    ['when it has worked too long', 'timeout_ms: 5s\nllmTimeout: 1s', 'limit', /Error \(limit\): .*Raise the limit/u],
  ])('%s, returns what it has, with that status', async (_, keys, status, words) => {
    const folders = createFolders({
      'lead.ai': ai('agents: helper'),
      'helper.ai': ai(`tools: slow\n${keys}`),
      'slow.mjs': hanging,
      '.ai-agent.json': { mcpServers: { slow: { module: './slow.mjs' } } },
    });
    const says = [
      { when: { agent: 'lead', turn: 1 }, reply: callRepeatedly('helper', 1) },
      { when: { agent: 'lead', turn: 2 }, reply: '{{results}}' },
      { when: { agent: 'helper' }, reply: { text: 'Half of it.', calls: [{ tool: 'slow__wait' }] } },
    ];
    const clock = virtualClock(1_000_000);
    const { cloister } = await open(folders, ['lead.ai'], { says, clock });
    const { outcome, run } = cloister.run('lead', 'Go');
    const { output, ...ended } = await runUntilSettled(clock, outcome);
    expect(ended).toMatchObject({ status: 'partial', missing: ['helper'] });
    expect(output).toContain(`Result from helper (status: ${status})`);
    expect(output).toContain('| Half of it.');
    expect(output).toMatch(words);
    expect(clock.now()).toBe(1_005_000);
    const { cells } = await cloister.show(run);
    expect(cells[1]).toMatchObject({ status, outcome: { output: 'Half of it.' } });
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  });
});

test('a caller that asks a text agent for JSON is shown the JSON, and nothing around it', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents:\n  - { agent: expert, output: { format: json } }'),
    'expert.ai': ai(),
  });
  const says = [
    { when: { agent: 'lead', turn: 1 }, reply: calls({ tool: 'expert', args: { prompt: 'Graz?' } }) },
    { when: { agent: 'expert' }, reply: 'I asked around.\n```json\n{ "people": 3e5 }\n```' },
    { reply: '{{results}}' },
  ];
  const { cloister } = await open(folders, ['.'], { says });
  const { output } = await cloister.run('lead', 'Go').outcome;
  expect(output).toMatch(/\n\| \{"people":300000\}$/u);
  expect(output).not.toContain('asked');
  expect(await cloister.run('expert', 'Graz?').outcome).toMatchObject({ output: expect.stringContaining('asked') });
});

test('a JSON agent from a file is called with its own schema, and its answer is checked against its own', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: expert'),
    'expert.ai': ai(
      'input:\n  format: json\n  schema: { type: object, properties: { city: { type: string } }, required: [city] }',
    ).replace('output: { format: text }', 'output: { format: json, schema: { type: object, required: [people] } }'),
  });
  const says = [
    { when: { agent: 'lead', turn: 1 }, reply: calls({ tool: 'expert', args: { city: 'Graz', reason: 'Asked.' } }) },
    { when: { agent: 'expert', turn: 1 }, reply: 'About 300000.' },
    { when: { agent: 'expert', turn: 2 }, reply: '{"people": 300000}' },
    { reply: '{{results}}' },
  ];
  const { cloister, model } = await open(folders, ['.'], { says });
  const { output } = await cloister.run('lead', 'Go').outcome;
  expect(output).toContain('| {"people":300000}');
  expect(model.requests[0]!.tools?.[0]).toMatchObject({
    name: 'expert',
    inputSchema: { required: ['city'], properties: { city: { type: 'string' }, reason: { type: 'string' } } },
  });
  expect(JSON.stringify(model.requests[1]!.prompt)).toContain('Your task: {\\"city\\":\\"Graz\\"}');
  const session = cloister.run('expert', { city: 'Graz' });
  expect(await session.outcome).toMatchObject({ status: 'completed', data: { people: 300_000 } });
});
