import fc from 'fast-check';
import { defineAgent } from 'cloister';
import { describe, expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import type { CellId, Json, JsonObject } from '#base';
import type { Agent } from '#contracts';
import { agentAsTool, readArguments, toToolResult } from '../../../src/headends/mcp/agent-tool.ts';
import { agents, makeOutcome, placeSchema } from './driver.ts';

type Options = Partial<Parameters<typeof defineAgent>[0]>;

const agentWith = (more: Options): Agent => defineAgent({ name: 'a', description: 'It is a.', prompt: 'p', ...more });

const fits = (agent: Agent, args: JsonObject): boolean =>
  validate(agentAsTool(agent).inputSchema as JsonObject, args).length === 0;

describe('the input of a tool', () => {
  test('an agent with text input takes a prompt, a format and a schema', () => {
    const { inputSchema, outputSchema, annotations } = agentAsTool(agents['echo']!);
    expect(Object.keys(inputSchema.properties!)).toEqual(['prompt', 'format', 'schema']);
    expect(inputSchema.required).toEqual(['prompt']);
    expect(outputSchema).toBeUndefined();
    expect(annotations).toEqual({ readOnlyHint: true, openWorldHint: false });
  });

  test('an agent with tools or sub-agents is not marked read-only', () => {
    const { annotations } = agentAsTool(agentWith({ agents: [agents['echo']!] }));
    expect(annotations).toEqual({ readOnlyHint: false, openWorldHint: true });
  });

  test('the usage example is part of the description', () => {
    expect(agentAsTool(agentWith({ usage: 'a "Where is Ulm?"' })).description).toBe(
      'It is a.\nExample: a "Where is Ulm?"',
    );
  });

  // invariant: mcp-request-format-beside-fields
  test('the fields of an agent are placed beside format and schema', () => {
    const agent = agentWith({ input: { format: 'json', schema: placeSchema } });
    expect(Object.keys(agentAsTool(agent).inputSchema.properties!)).toEqual(['town', 'format', 'schema']);
    expect(readArguments(agent, { town: 'Ulm', format: 'markdown' })).toEqual({
      request: { agent: 'a', input: { town: 'Ulm' }, format: 'markdown' },
      format: 'markdown',
    });
  });

  const fields = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: 'object',
    properties,
    ...more,
  });
  // invariant: mcp-request-format-beside-fields
  test.each([
    ['a field of its own called format', fields({ format: { type: 'string' } })],
    ['a field of its own called schema', fields({ schema: { type: 'object' } })],
    ['rules that a field more could break', fields({}, { maxProperties: 1 })],
    ['fields of any name', fields({}, { patternProperties: { '^f': { type: 'number' } } })],
    ['alternatives', { oneOf: [fields({ a: {} }), fields({ b: {} })] }],
    ['parts that refer to the whole', fields({ inner: { $ref: '#' } })],
    ['no schema', undefined],
  ])('an agent with %s has its fields under input', (_what, schema) => {
    const agent = agentWith({ input: { format: 'json', ...(schema === undefined ? {} : { schema }) } });
    expect(Object.keys(agentAsTool(agent).inputSchema.properties!)).toEqual(['input', 'format', 'schema']);
    expect(readArguments(agent, { input: { format: 1 } }).request.input).toEqual({ format: 1 });
  });

  test('a schema that refers to itself means the same under input', () => {
    const schema = fields({ name: { type: 'string' }, inner: { $ref: '#' } }, { additionalProperties: false });
    const agent = agentWith({ input: { format: 'json', schema } });
    expect(fits(agent, { input: { name: 'a', inner: { inner: { name: 'b' } } } })).toBe(true);
    expect(fits(agent, { input: { name: 'a', inner: { inner: { name: 1 } } } })).toBe(false);
    expect(fits(agent, { input: { inner: { format: 'json' } } })).toBe(false);
  });

  // invariant: mcp-output-schema-holds
  test('an agent that always returns objects has an output schema and accepts no other format', () => {
    const agent = agents['map']!;
    expect(agentAsTool(agent).outputSchema).toEqual(placeSchema);
    expect(agentAsTool(agent).inputSchema.properties!['format']).toMatchObject({ enum: ['json'] });
    expect(() => readArguments(agent, { town: 'x', format: 'text' })).toThrow(/format: this tool only returns json/u);
    const { request } = readArguments(agent, { town: 'x', schema: { maxProperties: 1 } });
    expect(request).toMatchObject({ format: 'json', schema: { allOf: [placeSchema, { maxProperties: 1 }] } });
    expect(readArguments(agent, { town: 'x', schema: placeSchema }).request.schema).toEqual(placeSchema);
  });
});

describe('wrong arguments are named', () => {
  test.each<[string, Json, RegExp]>([
    ['no prompt', {}, /arguments\.prompt: expected a string; got nothing/u],
    ['an empty prompt', { prompt: ' ' }, /arguments\.prompt: expected a non-empty task/u],
    ['a prompt that is no text', { prompt: 1 }, /arguments\.prompt: expected a string; got 1/u],
    [
      'a field that there is not',
      { prompt: 'x', budget: 1 },
      /arguments\.budget: unknown field\. Known fields: prompt, format, schema/u,
    ],
    ['a format that there is not', { prompt: 'x', format: 'xml' }, /arguments\.format: expected one of text/u],
    ['json without a schema', { prompt: 'x', format: 'json' }, /arguments\.schema: required for the format json/u],
    [
      'text with a schema',
      { prompt: 'x', format: 'text', schema: {} },
      /arguments\.schema: only allowed with the format json/u,
    ],
    ['a schema that is none', { prompt: 'x', schema: 'x' }, /arguments\.schema: expected a JSON object/u],
  ])('%s', (_what, args, words) => {
    expect(() => readArguments(agents['echo']!, args as JsonObject)).toThrow(words);
  });

  test('exactly the arguments that match the tool’s schema are accepted', () =>
    fc.assert(
      fc.property(
        fc.constantFrom('echo', 'map', 'list'),
        fc.record(
          {
            prompt: fc.oneof(fc.constant('x'), fc.anything()),
            town: fc.oneof(fc.constant('Ulm'), fc.jsonValue()),
            format: fc.oneof(fc.constantFrom('text', 'markdown', 'json'), fc.jsonValue()),
            schema: fc.oneof(fc.constant({}), fc.jsonValue()),
          },
          { requiredKeys: [] },
        ),
        (name, drawn) => {
          const agent = agents[name]!;
          const args = JSON.parse(JSON.stringify(drawn)) as JsonObject;
          let read = true;
          try {
            readArguments(agent, args);
          } catch {
            read = false;
          }
          // A schema cannot say which arguments can be combined. And null is a value to a schema, but counts as missing here.
          const together =
            args['format'] === 'json' && args['schema'] === undefined && agent.signature.output.schema === undefined;
          const apart = args['schema'] !== undefined && args['format'] !== undefined && args['format'] !== 'json';
          const blank = typeof args['prompt'] === 'string' && args['prompt'].trim() === '';
          fc.pre(!together && !apart && !blank && !Object.values(args).includes(null));
          // The agent's own fields are validated when it runs.
          if (name === 'map') fc.pre(typeof args['town'] === 'string' && args['prompt'] === undefined);
          expect(read).toBe(fits(agent, args));
        },
      ),
    ));
});

describe('the outcome of a run', () => {
  const echo = agents['echo']!;
  test('an answer is text with the id of its run', () => {
    expect(toToolResult(echo, 'text', makeOutcome('Yes.'))).toEqual({
      content: [{ type: 'text', text: 'Yes.' }],
      _meta: { 'cloister/run': 'run', 'cloister/status': 'completed' },
    });
  });

  test.each(['partial', 'limit', 'budget', 'timeout'] as const)('an answer that is %s says why', (status) => {
    const result = toToolResult(echo, 'text', makeOutcome('Half', { status, failure: { code: 'deadline_passed' } }));
    expect(result).toMatchObject({
      content: [
        { text: 'Half' },
        { text: expect.stringMatching(/^The answer is incomplete: The deadline has passed/u) },
      ],
    });
    expect(result.isError).toBeUndefined();
  });

  test('an answer that leaves spawned work behind names it, and carries the words that it does not include', () => {
    const cell = 'helper-1' as CellId;
    const spawned = [{ agent: 'helper', cell, status: 'cancelled', why: 'It was still working.', output: '' }] as const;
    const outcome = makeOutcome('Half', { status: 'partial', missing: ['helper'], spawned });
    expect(toToolResult(echo, 'text', outcome)).toMatchObject({
      content: [{ text: 'Half' }, { text: 'The answer is incomplete: nothing complete came from helper.' }],
      _meta: { 'cloister/status': 'partial', 'cloister/missing': ['helper'], 'cloister/spawned': spawned },
    });
  });

  test.each(['failed', 'cancelled', 'limit', 'budget', 'timeout', 'partial'] as const)(
    'no answer, and %s, is an error with the text of the catalogue',
    (status) => {
      const failure = { code: 'model_server', detail: 'sk-secret' } as const;
      expect(toToolResult(echo, 'text', makeOutcome('', { status, failure }))).toEqual({
        content: [
          {
            type: 'text',
            text: 'The model provider returned an error or an invalid response. Retry later, or add a fallback model.',
          },
        ],
        isError: true,
        _meta: {
          'cloister/run': 'run',
          'cloister/status': status,
          'cloister/error': 'model_server',
          'cloister/retryable': true,
        },
      });
    },
  );

  test('data is structured content if json was requested and it is an object', () => {
    expect(toToolResult(echo, 'json', makeOutcome('{"a":1}', { data: { a: 1 } })).structuredContent).toEqual({ a: 1 });
    expect(toToolResult(echo, 'json', makeOutcome('[1]', { data: [1] }))).not.toHaveProperty('structuredContent');
    expect(toToolResult(echo, 'text', makeOutcome('x', { data: { tasks: 1 } }))).not.toHaveProperty(
      'structuredContent',
    );
  });

  // invariant: mcp-output-schema-holds
  test('a tool with an output schema returns data or an error', () => {
    const half = makeOutcome('{"town":', { status: 'timeout', failure: { code: 'deadline_passed' } });
    expect(toToolResult(agents['map']!, 'json', half).isError).toBe(true);
  });
});
