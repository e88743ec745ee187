// How the schemas of agents become schemas of tools, and which schema errors are found before anything runs.
import fc from 'fast-check';
import { openCloister } from 'cloister';
import { describe, expect, test } from 'vitest';
import type { Agent } from 'cloister';
import type { Json, JsonObject } from '#base';
import { validate } from '#adapters/schemas';
import { rehearse } from '#testkit';
import { testRuns } from '../../test-seed.ts';
import { agent, always, tool } from '../session/driver.ts';

const open = (...agents: readonly Agent[]) =>
  openCloister({ store: 'memory', agents, models: [rehearse([always('Done.')])] });

describe('in gather', () => {
  const word = { type: 'string', minLength: 2 };
  const tree = (ref: string): JsonObject => ({
    properties: { word: { type: 'string' }, more: { type: 'array', items: { $ref: ref } } },
    required: ['word'],
    additionalProperties: false,
  });
  const schemas: Readonly<Record<string, JsonObject>> = {
    plain: { properties: { word }, additionalProperties: false },
    defs: { properties: { word: { $ref: '#/$defs/word' } }, $defs: { word } },
    definitions: { properties: { word: { $ref: '#/definitions/a~1b%20c' } }, definitions: { 'a/b c': word } },
    detour: { properties: { word: { $ref: '#/$defs/one' } }, $defs: { one: { $ref: '#/$defs/two' }, two: word } },
    anchor: { properties: { word: { $ref: '#here' } }, $defs: { one: { $anchor: 'here', ...word } } },
    'other anchor': { properties: { word: { $ref: '#here' } }, $defs: { one: { $anchor: 'here', type: 'integer' } } },
    'old anchor': { properties: { word: { $ref: '#old' } }, definitions: { one: { $id: '#old', ...word } } },
    property: { properties: { more: { items: { $ref: '#/properties/word' } }, word } },
    recursive: tree('#'),
    'recursive by anchor': { $anchor: 'tree', ...tree('#tree') },
    'recursive by address': { $id: 'https://x.example/tree', ...tree('https://x.example/tree') },
    'recursive by relative address': { $id: 'https://x.example/tree', ...tree('#') },
    'with an old id': {
      id: 'https://x.example/old',
      ...tree('#/properties/more/items'),
      properties: { word: { $ref: '#/definitions/word' } },
      definitions: { word },
    },
    'a part with an address': {
      properties: { word: { $ref: 'https://x.example/part' } },
      $defs: { part: { $id: 'https://x.example/part', $ref: '#/$defs/word', $defs: { word } } },
    },
    branches: {
      oneOf: [{ $ref: '#/$defs/one' }, { required: ['more'] }],
      $defs: { one: { properties: { word }, required: ['word'] } },
    },
    'names like keywords': { properties: { $ref: word, enum: { $ref: '#/properties/$ref' } } },
    'data like references': { properties: { word: { enum: ['#/$defs/x'] }, more: { const: { $ref: '#' } } } },
    nothing: {},
  };
  const names = Object.keys(schemas);
  const children = names.map((name, at) => agent(`child${at}`, { input: { format: 'json', schema: schemas[name]! } }));
  const lead = agent('lead', { agents: [...children, agent('text')], gather: { timeoutMs: 1 } });
  const gather = lead.definition.tools.find(({ name }) => name === 'gather')!.inputSchema;

  const anyWord = fc.constantFrom<Json>('', 'a', 'long', '#/$defs/x', 3, null);
  const anyInput = fc.letrec<{ input: Json }>((tie) => ({
    input: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'input' },
      fc.constantFrom<Json>({ word: 'long' }, { word: 'a' }, {}, 'x'),
      fc.record({ word: anyWord, more: fc.array(tie('input'), { maxLength: 2 }) }),
      fc.record({ word: fc.constant('long'), more: fc.array(fc.oneof(anyWord, tie('input')), { maxLength: 2 }) }),
      fc.record({ word: anyWord, more: fc.constant({ $ref: '#' }) }, { requiredKeys: [] }),
      fc.record({ $ref: anyWord, enum: anyWord, reason: anyWord }, { requiredKeys: [] }),
    ),
  })).input;

  test.each(names.map((name, at) => [name, at] as const))(
    '%s: accepts exactly what the agent itself accepts',
    (name, at) => {
      const seen = new Set<boolean>();
      fc.assert(
        fc.property(anyInput, (input) => {
          const fits = validate({ ...schemas[name], type: 'object' }, input).length === 0;
          seen.add(fits);
          expect(validate(gather, { tasks: [{ agent: `child${at}`, input }] }).length === 0).toBe(fits);
        }),
        { numRuns: testRuns(200) },
      );
      expect(seen.size).toBe(2);
    },
  );
});

describe('the agent’s tool', () => {
  const offered = (schema: JsonObject): JsonObject =>
    agent('lead', { agents: [agent('child', { input: { format: 'json', schema } })] }).definition.tools[0]!.inputSchema;
  const properties = { a: { type: 'string' } };
  const description = expect.any(String) as string;
  const options: JsonObject = {
    reason: { type: 'string', description },
    timeout_ms: { type: 'integer', minimum: 1, description },
    tools: { type: 'array', items: { type: 'string' }, description },
  };

  test.each<[string, JsonObject]>([
    ['no schema', {}],
    ['properties', { properties, required: ['a'], additionalProperties: false }],
    ['minimum counts only', { minProperties: 1 }],
    ['internal references', { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { oneOf: [{}] } } }],
  ])('has the options of a call beside %s', (_, schema) => {
    expect(offered(schema)).toEqual({
      ...schema,
      type: 'object',
      properties: { ...(schema['properties'] as JsonObject), ...options },
    });
  });

  test.each<[string, JsonObject]>([
    ['closed branches', { oneOf: [{ properties, additionalProperties: false }] }],
    ['anyOf', { properties, anyOf: [{ required: ['a'] }] }],
    ['allOf', { allOf: [{ properties, additionalProperties: false }] }],
    ['a reference', { $ref: '#/$defs/all', $defs: { all: { properties, additionalProperties: false } } }],
    ['unevaluatedProperties', { properties, unevaluatedProperties: false }],
    ['patterns', { patternProperties: { '^r': { type: 'integer' } } }],
    ['propertyNames', { propertyNames: { maxLength: 1 } }],
    ['maxProperties', { maxProperties: 1 }],
    ['a condition', { if: { required: ['reason'] }, else: false }],
    ['a reference to itself', { properties: { ...properties, more: { $ref: '#' } }, additionalProperties: false }],
    [
      'properties of those names',
      { properties: { reason: { type: 'integer' }, tools: {}, timeout_ms: { const: 'soon' } } },
    ],
    ['required ones', { required: ['reason', 'tools', 'timeout_ms'] }],
  ])('has no options of a call beside %s', (_, schema) => {
    expect(offered(schema)).toEqual({ ...schema, type: 'object' });
  });

  test('has the options whose names are free', () => {
    const { reason, ...rest } = options;
    const own = { tools: { type: 'integer' } };
    expect(offered({ properties: own })['properties']).toEqual({ reason, timeout_ms: rest['timeout_ms'], ...own });
  });
});

describe('opening Cloister', () => {
  const bad = { type: 'object', properties: { q: { $ref: '#/$defs/nope' } } };

  test.each<[string, Agent, RegExp]>([
    [
      'an input schema',
      agent('lead', { input: { format: 'json', schema: bad } }),
      /"lead", input\.schema: .*\/properties\/q\/\$ref/u,
    ],
    [
      'an output schema',
      agent('lead', { output: { format: 'json', schema: { type: 'strin' } } }),
      /"lead", output\.schema: .*"strin"/u,
    ],
    [
      'a tool',
      agent('lead', { tools: [tool('echo', () => '', { inputSchema: { properties: 5 } })] }),
      /"lead", tools\.echo: .*\/properties/u,
    ],
    [
      'the input schema of a sub-agent',
      agent('lead', { agents: [agent('child', { input: { format: 'json', schema: bad } })], gather: { timeoutMs: 1 } }),
      /"child", input\.schema/u,
    ],
  ])('rejects %s that cannot be used', async (_, lead, words) => {
    for (const attempt of [1, 2])
      await expect(open(lead), `attempt ${attempt}`).rejects.toMatchObject({
        code: 'agent_invalid',
        message: expect.stringMatching(words),
      });
  });

  test('checks a chain of 10,000 agents to its end', async () => {
    const chain = (last: Agent) => {
      let top = last;
      for (let at = 0; at < 10_000; at++) top = agent(`a${at}`, { agents: [top] });
      return top;
    };
    await (await open(chain(agent('last')))).close();
    const wrong = agent('last', { output: { format: 'json', schema: { type: 'strin' } } });
    await expect(open(chain(wrong))).rejects.toMatchObject({
      code: 'agent_invalid',
      message: expect.stringContaining('"last"'),
    });
  });
});
