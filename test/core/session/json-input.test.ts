// Agents with an object as input instead of text: as a tool, through gather, and called by run.
import fc from 'fast-check';
import { openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '#base';
import { validate } from '#adapters/schemas';
import { rehearse } from '#testkit';
import { agent, always, ask, call, calls, lastResults, lines, thrownBy } from './driver.ts';
import type { SentRequest } from './driver.ts';
import { record } from './recorded.ts';

const schema = {
  type: 'object',
  properties: { question: { type: 'string' }, depth: { type: 'integer' } },
  required: ['question'],
  additionalProperties: false,
} as const;

const analyst = agent('analyst', { input: { format: 'json', schema } });

/** The tool with this name, as the first request offers it. */
const offered = (requests: readonly SentRequest[], name: string): JsonObject => {
  const found = requests[0]!.options.tools?.find((tool) => tool.name === name);
  if (found?.type !== 'function') throw new Error(`There is no tool ${name}.`);
  return found.inputSchema as JsonObject;
};

/** The tasks that the agent's model was given, one per session. */
const goals = (requests: readonly SentRequest[], name: string): readonly string[] =>
  requests
    .filter(({ options }) => JSON.stringify(options.prompt[0]).includes(`You are the agent \\"${name}\\"`))
    .flatMap(({ options: { prompt } }) => {
      const [, user] = prompt;
      const [part] = user?.role === 'user' ? user.content : [];
      return prompt.length === 2 && part?.type === 'text' ? [part.text.replace('Your task: ', '')] : [];
    });

/** The lead calls these tools in one turn and then answers. */
const leadCalls = (lead: Agent, ...called: readonly (string | { tool: string; args?: JsonObject })[]) =>
  ask(lead, { says: [...lines({ lead: [calls(...called), 'Done.'] }), always('- Answered.')] });

/** What a call can set besides the agent's input. */
const callOptions = {
  reason: { type: 'string', description: expect.any(String) },
  timeout_ms: { type: 'integer', minimum: 1, description: expect.any(String) },
  tools: { type: 'array', items: { type: 'string' }, description: expect.any(String) },
};

describe('as a tool', () => {
  test('its schema is the agent’s schema plus the options of a call', async () => {
    const { requests } = await leadCalls(agent('lead', { agents: [analyst] }), 'read_output');
    expect(offered(requests, 'analyst')).toEqual({
      ...schema,
      properties: { ...schema.properties, ...callOptions },
    });
  });

  test('the child gets the object as JSON; the reason stays in the log of the parent', async () => {
    const args = { question: 'Why?', depth: 2, reason: 'The user hinted at swordfish.' };
    const says = [...lines({ lead: [calls({ tool: 'analyst', args }), 'Done.'] }), always('- Answered.')];
    const { frames, requests } = await record(agent('lead', { agents: [analyst] }), { says });
    expect(requests[1]!.prompt[1]).toMatchObject({
      role: 'user',
      content: [{ text: 'Your task: {"question":"Why?","depth":2}' }],
    });
    const child = JSON.stringify([requests[1], frames.filter(({ cell }) => cell.startsWith('analyst-'))]);
    expect(child).not.toContain('swordfish');
    const begun = frames.flatMap(({ record: entry }) => (entry.type === 'begin' && entry.birth ? [entry] : []));
    expect(begun.map(({ about }) => about?.['reason'])).toEqual([args.reason]);
  });

  test('a reason property of the agent’s own schema is passed to the child', async () => {
    const owns = agent('clerk', {
      input: { format: 'json', schema: { type: 'object', properties: { reason: { type: 'integer' } } } },
    });
    const { requests } = await leadCalls(agent('lead', { agents: [owns] }), { tool: 'clerk', args: { reason: 7 } });
    expect(offered(requests, 'clerk')).toEqual({
      type: 'object',
      properties: { ...callOptions, reason: { type: 'integer' } },
    });
    expect(goals(requests, 'clerk')).toEqual(['{"reason":7}']);
  });

  test('without a schema any object is accepted', async () => {
    const any = agent('any', { input: { format: 'json' } });
    const { requests } = await leadCalls(agent('lead', { agents: [any] }), {
      tool: 'any',
      args: { a: [1, { b: null }] },
    });
    expect(goals(requests, 'any')).toEqual(['{"a":[1,{"b":null}]}']);
  });

  test('an object that does not fit starts no child, and the model gets the reason', async () => {
    const { requests, report } = await leadCalls(
      agent('lead', { agents: [analyst] }),
      { tool: 'analyst', args: { depth: 1 } },
      { tool: 'analyst', args: { prompt: 'Why?' } },
      { tool: 'analyst', args: { question: 'Why?', more: 1 } },
    );
    expect(report.cells).toHaveLength(1);
    const shown = lastResults(requests).map(({ type, text }) => `${type} ${text}`);
    for (const text of shown) expect(text).toMatch(/^error-text Error \(tool\): .*invalid/u);
    expect(shown[0]).toMatch(/question/u);
    expect(shown[2]).toMatch(/more/u);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['too little without the reason', { type: 'object', minProperties: 1 }, { reason: 'because' }],
    ['a reason in a nested object', { properties: { b: { not: { required: ['reason'] } } } }, { b: { reason: 'x' } }],
  ])('%s starts no child', async (_, own, args) => {
    const child = agent('child', { input: { format: 'json', schema: own } });
    const { requests, report } = await leadCalls(agent('lead', { agents: [child] }), { tool: 'child', args });
    expect(report.cells).toHaveLength(1);
    expect(lastResults(requests)[0]!.text).toMatch(/^Error \(tool\): .*invalid/u);
  });

  test('closed branches accept the properties they name, and nothing else', async () => {
    const branch = (name: string) => ({ properties: { [name]: true }, required: [name], additionalProperties: false });
    const child = agent('child', { input: { format: 'json', schema: { oneOf: [branch('a'), branch('b')] } } });
    const { requests } = await leadCalls(
      agent('lead', { agents: [child] }),
      { tool: 'child', args: { a: 1 } },
      { tool: 'child', args: { a: 1, reason: 'because' } },
    );
    expect(goals(requests, 'child')).toEqual(['{"a":1}']);
  });

  test('no child gets input that its own schema rejects', () => {
    const parts: Record<string, fc.Arbitrary<Json>> = {
      minProperties: fc.nat(2),
      maxProperties: fc.nat(2),
      required: fc.subarray(['a', 'reason']),
      additionalProperties: fc.boolean(),
      properties: fc.constantFrom<Json>(
        { a: { type: 'integer' } },
        { reason: { type: 'integer' } },
        { a: { $ref: '#' } },
      ),
      anyOf: fc.constantFrom<Json>([{ required: ['a'] }, { required: ['reason'] }]),
    };
    const few = fc.subarray(Object.keys(parts), { minLength: 1, maxLength: 2 });
    const anyOwn = few.chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, parts[key]!]))));
    const anyArgs = fc.constantFrom<JsonObject>(
      { reason: 'x' },
      { reason: 1 },
      { a: 1 },
      { a: 1, reason: 'x' },
      { a: {}, reason: 'x' },
      { a: { reason: 1 } },
      { a: { reason: 'x' } },
    );
    return fc.assert(
      fc.asyncProperty(anyOwn, anyArgs, async (own, args) => {
        const child = agent('child', { input: { format: 'json', schema: own } });
        const { requests } = await leadCalls(agent('lead', { agents: [child] }), { tool: 'child', args });
        for (const goal of goals(requests, 'child')) expect(validate(own, JSON.parse(goal) as Json)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test('valid input crosses exactly as it was sent', () =>
    fc.assert(
      fc.asyncProperty(fc.string(), fc.integer(), fc.string(), async (question, depth, reason) => {
        const args = { question, depth, reason };
        const { requests } = await leadCalls(agent('lead', { agents: [analyst] }), { tool: 'analyst', args });
        const [goal] = goals(requests, 'analyst');
        expect(JSON.parse(goal!)).toEqual({ question: question.toWellFormed(), depth });
      }),
      { numRuns: 40 },
    ));
});

describe('through gather', () => {
  const writer = agent('writer');
  const lead = agent('lead', { agents: [analyst, writer], gather: { timeoutMs: 1_000 } });
  const gather = (...tasks: readonly JsonObject[]) => call('gather', { tasks });
  const gathered = (...tasks: readonly JsonObject[]) =>
    ask(lead, { says: [...lines({ lead: [gather(...tasks), 'Done.'] }), always('- Answered.')] });

  test('each agent is called in its own format, and never sees the reason', async () => {
    const { outcome, requests } = await gathered(
      { agent: 'analyst', input: { question: 'Why?' }, reason: 'swordfish' },
      { agent: 'writer', prompt: 'Write.', reason: 'swordfish' },
      { agent: 'analyst', input: { question: 'How?', depth: 1 } },
    );
    expect(outcome.status).toBe('completed');
    expect(goals(requests, 'analyst').toSorted()).toEqual(['{"question":"How?","depth":1}', '{"question":"Why?"}']);
    expect(goals(requests, 'writer')).toEqual(['Write.']);
    const children = requests.filter(({ text }) => !text.includes('You are the agent \\"lead\\"'));
    expect(children.map(({ text }) => text).join()).not.toContain('swordfish');
  });

  test('a schema with internal references is used as it is', async () => {
    const exact = agent('exact', {
      input: {
        format: 'json',
        schema: { properties: { word: { $ref: '#/$defs/word' } }, $defs: { word: { type: 'string' } } },
      },
    });
    const { requests } = await ask(agent('lead', { agents: [analyst, exact], gather: { timeoutMs: 1_000 } }), {
      says: [
        ...lines({
          lead: [
            gather({ agent: 'exact', input: { word: 'x' } }),
            gather({ agent: 'exact', input: { word: 5 } }),
            'Done.',
          ],
        }),
        always('- Answered.'),
      ],
    });
    expect(goals(requests, 'exact')).toEqual(['{"word":"x"}']);
  });

  test.each<[string, JsonObject]>([
    ['text for an agent that takes an object', { agent: 'analyst', prompt: 'Why?' }],
    ['an object for an agent that takes text', { agent: 'writer', input: { question: 'Why?' } }],
    ['an object that does not fit', { agent: 'analyst', input: { depth: 1 } }],
    ['nothing', { agent: 'analyst' }],
    ['an unknown agent', { agent: 'nobody', prompt: 'Hello?' }],
  ])('%s is rejected, and no agent is called', async (_, task) => {
    const { requests, report } = await gathered({ agent: 'writer', prompt: 'Write.' }, task);
    expect(report.cells).toHaveLength(1);
    expect(lastResults(requests)[0]!.text).toMatch(/^Error \(tool\): .*invalid.*tasks/u);
  });
});

describe('called by run', () => {
  const open = async (...agents: readonly Agent[]) => {
    const model = rehearse([always('Done.')]);
    const cloister = await openCloister({ store: 'memory', agents, models: [model] });
    const goalOf = async (input: string | JsonObject, name = agents[0]!.name): Promise<string> => {
      const { outcome, run } = cloister.run(name, input);
      expect((await outcome).status).toBe('completed');
      expect(await cloister.audit(run)).toMatchObject({ ok: true });
      return (await cloister.show(run)).goal;
    };
    return { cloister, goalOf, model };
  };

  test('run accepts the object, or its JSON', async () => {
    const { goalOf } = await open(analyst);
    expect(await goalOf({ question: 'Why?' })).toBe('{"question":"Why?"}');
    expect(await goalOf(' { "question": "Why?" } ')).toBe('{"question":"Why?"}');
  });

  test('an agent with text input may be called like its tool', async () => {
    const { goalOf } = await open(agent('writer'));
    expect(await goalOf({ prompt: 'Write.', reason: 'Because.' })).toBe('Write.');
  });

  test.each<[string, Agent, string | JsonObject, RegExp]>([
    ['an object that does not fit', analyst, { depth: 1 }, /"analyst".*question/u],
    ['JSON that does not fit', analyst, '{"question": 5}', /"analyst".*question/u],
    ['a list', analyst, '[]', /"analyst".*object/u],
    [
      'text',
      agent('shy', { input: { format: 'json' }, usage: '{"a":1}' }),
      'Why?',
      /"shy" expects a JSON object, such as \{"a":1\}/u,
    ],
    [
      'an object without a prompt, for text',
      agent('writer'),
      { question: 'Why?' },
      /"writer" expects text, or an object with "prompt"/u,
    ],
  ])('%s is rejected before anything is recorded', async (_, asked, input, words) => {
    const { cloister, model } = await open(asked);
    const error = thrownBy(() => cloister.run(asked.name, input));
    expect(error).toMatchObject({ code: 'goal_schema', suggestion: expect.stringContaining('JSON object') });
    expect(error.message).toMatch(words);
    expect(await cloister.runs()).toEqual([]);
    expect(model.requests).toEqual([]);
  });
});
