// How the runtime handles models and tools that sometimes fail.
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { DurableEvent, ToolDefinition } from 'cloister';
import { fakeWorld, faultyModel, faultyTool, rehearse } from '#testkit';
import type { FaultPlan, ModelFault, ToolFault } from '#testkit';

const sendTool = (sent: string[]): ToolDefinition => ({
  name: 'send',
  description: 'Sends.',
  inputSchema: { type: 'object' },
  execute: (_args, { key }) => {
    sent.push(key);
    return 'It was sent to everybody.';
  },
});

/** One agent that calls `send` and then reports the result. */
const runWith = async (faults: { model?: FaultPlan<ModelFault>; tool?: FaultPlan<ToolFault> }) => {
  const world = fakeWorld();
  const { clock, ids } = world;
  const sent: string[] = [];
  const script = rehearse(
    [
      { when: { turn: 1 }, reply: { text: 'I send.', calls: [{ tool: 'send', args: { to: 'all' } }] } },
      { when: { turn: 2 }, reply: 'Heard: {{results}}' },
    ],
    { clock },
  );
  const model = faultyModel(script, { clock, ...faults.model });
  const tool = faultyTool(sendTool(sent), { clock, ...faults.tool });
  const agent = defineAgent({
    name: 'sender',
    description: 'Sends.',
    prompt: 'You send.',
    models: [model],
    tools: [tool],
    limits: { llmTimeout: 10_000, toolTimeout: 10_000, timeout_ms: 100_000 },
  });
  await using cloister = await openCloister({ store: 'memory', agents: [agent], clock, ids });
  const session = cloister.run('sender', 'Go');
  const outcome = await world.finish(session.outcome);
  const { events } = await cloister.show(session.run);
  return {
    outcome,
    sent,
    met: { model: [...model.met], tool: [...tool.met] },
    asked: script.requests.length,
    errors: errorsIn(events),
  };
};

const errorsIn = (events: readonly DurableEvent[]) =>
  events.flatMap((event) =>
    (event.type === 'model-end' || event.type === 'tool-end') && event.error !== null ? [event.error.code] : [],
  );

describe('a faulty model', () => {
  const cases: readonly [ModelFault, readonly string[], number][] = [
    [429, ['model_rate'], 2],
    [503, ['model_server'], 2],
    ['network', ['model_network'], 2],
    ['hang', ['model_timeout'], 2],
    ['lost', ['model_network'], 3],
    ['cut', ['model_cut'], 3],
    ['end', ['model_cut'], 3],
    // An answer, but an empty one.
    ['empty', [], 3],
  ];
  test.each(cases)('%j once is %j to the runtime, which retries', async (fault, errors, asked) => {
    const ran = await runWith({ model: { at: { 1: fault } } });
    expect(ran.outcome).toMatchObject({ status: 'completed', output: 'Heard: It was sent to everybody.' });
    expect(ran.met.model).toEqual([[1, fault]]);
    expect({ errors: ran.errors, asked: ran.asked }).toEqual({ errors, asked });
  });

  test('`malformed` once: the call is refused, nothing is sent, and the model is told why', async () => {
    const ran = await runWith({ model: { at: { 1: 'malformed' } } });
    expect(ran.outcome.output).toContain('Expected a single JSON object.');
    expect(ran).toMatchObject({ sent: [], errors: ['tool_arguments'] });
  });

  test('`slowMs` only adds a delay', async () => {
    const { outcome, errors } = await runWith({ model: { at: { 2: { slowMs: 4_000 } } } });
    expect([outcome.status, outcome.spent.ms, errors]).toEqual(['completed', 4_000, []]);
  });

  test('400 every time ends the session, and the model itself is never called', async () => {
    const { outcome, asked } = await runWith({ model: { percent: 100, kinds: [400] } });
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model_request' } });
    expect(asked).toBe(0);
  });

  test('by seed: the same seed gives the same faults, another seed others', async () => {
    const met = async (seed: number) =>
      JSON.stringify((await runWith({ model: { seed, percent: 50, kinds: [429, 503, 'cut', 'network'] } })).met.model);
    expect(await met(3)).toBe(await met(3));
    const all = new Set(await Promise.all(Array.from({ length: 12 }, (_, seed) => met(seed))));
    expect(all.size).toBeGreaterThan(4);
  });

  test('keeps the price and sizes of the original model', () => {
    const { model } = faultyModel({ language: rehearse([]), price: { input: 1, output: 2 }, contextTokens: 9 }, {});
    expect(model).toMatchObject({
      price: { input: 1, output: 2 },
      contextTokens: 9,
      language: { provider: 'rehearsal' },
    });
  });
});

describe('a faulty tool', () => {
  const cases: readonly [ToolFault, string, RegExp, number][] = [
    ['fail', 'tool_failed', /send failed as instructed/u, 0],
    [503, 'tool_failed', /Status 503\./u, 0],
    ['hang', 'tool_timeout', /Error \(timeout\)/u, 0],
    ['lost', 'tool_failed', /fetch failed/u, 1],
    ['lost in silence', 'tool_timeout', /Error \(timeout\)/u, 1],
    ['malformed', 'tool_output', /Error \(tool\)/u, 1],
  ];
  test.each(cases)('%j is %s to its caller', async (fault, code, heard, times) => {
    const { outcome, errors, sent, met } = await runWith({ tool: { at: { 1: fault } } });
    expect(outcome.output).toMatch(heard);
    expect({ errors, sent: sent.length, met: met.tool }).toEqual({ errors: [code], sent: times, met: [[1, fault]] });
  });

  test('`cut` returns half of the text', async () => {
    expect((await runWith({ tool: { at: { 1: 'cut' } } })).outcome.output).toBe('Heard: It was sent ');
  });

  test('behaves like the tool itself when there is no fault', async () => {
    const { outcome, errors, met } = await runWith({ tool: { at: { 2: 'fail' } } });
    expect([outcome.output, errors, met.tool]).toEqual(['Heard: It was sent to everybody.', [], []]);
  });
});

describe('an invalid fault is refused, because a test of it would show nothing', () => {
  test.for<[title: string, faults: object]>([
    ['a word that is no fault', { at: { 1: 'explode' } }],
    ['a fault of models', { at: { 1: 'end' } }],
    ['a call before the first', { at: { 0: 'fail' } }],
    ['a status that is none', { at: { 1: 99_999 } }],
    ['a share without kinds', { percent: 100 }],
    ['a share above all', { percent: 101, kinds: ['fail'] }],
  ])('%s', ([, faults]) => {
    expect(() => faultyTool(sendTool([]), faults as FaultPlan<ToolFault>)).toThrow(/^Faults, .*: expected /u);
  });

  test('a tool fault in a model', () => {
    expect(() => faultyModel(rehearse([]), { at: { 1: 'lost in silence' as never } })).toThrow(
      /expected network, hang/u,
    );
  });
});
