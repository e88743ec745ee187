// Checks are bounded by steps: schemas that would take practically unlimited time get an answer, the same one every time.
import { defineAgent } from 'cloister';
import { expectResumable, rehearse } from 'cloister/testkit';
import { describe, expect, test, vi } from 'vitest';
import type { Json, JsonObject } from '#base';
import { schemaProblem, toolSchemaProblem, uncheckedPatterns, validate } from '#adapters/schemas';
import { agent, ask, calls, call, lastResults, lines, ofType, tool } from '../../core/session/driver.ts';

/** Twice as slow with every letter on an engine that backtracks. */
const slowText = `${'a'.repeat(40)}!`;
const slowPattern = '^(a+)+$';

/** Each level refers to the next one twice. */
const doubling = (levels: number): JsonObject => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries([
    ...Array.from({ length: levels }, (_, level): [string, JsonObject] => [
      `l${level}`,
      { allOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
    ]),
    [`l${levels}`, { type: 'string' }],
  ]),
});

test.each<[string, JsonObject, Json]>([
  ['a pattern', { type: 'string', pattern: slowPattern }, slowText],
  [
    'a pattern of names',
    { patternProperties: { [slowPattern]: true }, additionalProperties: false },
    { [slowText]: 1 },
  ],
])('%s that would backtrack is decided', (_, schema, value) => {
  expect(schemaProblem(schema)).toBeNull();
  expect(validate(schema, value)).toEqual([expect.stringMatching(/does not match the pattern|not allowed/u)]);
});

const deepValue = (levels: number): Json => {
  let value: Json = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};

describe('a value that is too costly to check is refused, the same way every time', () => {
  // invariant: schema-verdict-by-steps
  test.each<[string, JsonObject, Json, RegExp]>([
    [
      'references that double at each of 24 levels',
      doubling(24),
      'x',
      /more than 250000 checking steps; send a smaller value/u,
    ],
    ['a deep value', { items: { $ref: '#' } }, deepValue(3_000), /nested deeper than 400 levels/u],
    ['a deep value to compare', { uniqueItems: true }, [deepValue(3_000)], /nested deeper than 400 levels/u],
    [
      'a long text and a large pattern',
      { pattern: '(?:a|b){300}c' },
      'ab'.repeat(5_000),
      /more than 250000 checking steps/u,
    ],
  ])('%s', (_, schema, value, words) => {
    const refusals = [schema, schema, structuredClone(schema)].map((one) => validate(one, value));
    expect(refusals[0]).toEqual([expect.stringMatching(words)]);
    expect(refusals).toEqual([refusals[0], refusals[0], refusals[0]]);
  });
});

test('problems of branches that are not needed are not written out', () => {
  const schema: JsonObject = {
    additionalProperties: { $ref: '#' },
    items: { anyOf: [...Array.from({ length: 20 }, () => false), true] },
  };
  let value: Json = Array.from({ length: 2_000 }, () => 1);
  for (let level = 0; level < 100; level++) value = { [`k/${level}`]: value };
  const escapes = vi.spyOn(String.prototype, 'replaceAll');
  expect(validate(schema, value)).toEqual([]);
  expect(escapes.mock.calls.length).toBeLessThan(1_000);
  escapes.mockRestore();
});

test('an address that every reference would be compared with is limited in length', () => {
  const long = `https://x.example/${'a'.repeat(500)}`;
  for (const schema of [{ $id: long }, { $defs: { a: { $anchor: long } } }])
    for (const problem of [schemaProblem(schema), toolSchemaProblem(schema)])
      expect(problem).toMatch(/^The address ".*" has more than 500 characters\.$/u);
});

test('a pattern that names many tables of Unicode is refused before JavaScript reads it', () => {
  const pattern = `${String.raw`\p{L}`.repeat(200)}(`;
  expect(schemaProblem({ pattern })).toMatch(/^\/pattern: the pattern is too large/u);
  expect(schemaProblem({ patternProperties: { [pattern]: true } })).toMatch(/the pattern is too large/u);
  expect(toolSchemaProblem({ pattern })).toBeNull();
  const many = Array.from({ length: 20 }, (_, at) => ({ pattern: `(?=${at})${String.raw`\p{L}`.repeat(80)}` }));
  expect(uncheckedPatterns({ allOf: many }).at(0)).toMatch(/look-ahead/u);
  expect(uncheckedPatterns({ allOf: many }).at(-1)).toMatch(/one too many/u);
});

test.each([
  ['names many tables of Unicode', String.raw`\p{L}`.repeat(400)],
  ['lists many characters', `[${'ab'.repeat(50_000)}]`],
])('a regular expression that %s is too costly to be checked as a value', (_, text) => {
  expect(validate({ format: 'regex' }, text)).toEqual([expect.stringMatching(/too costly/u)]);
  expect(validate({ format: 'regex' }, String.raw`^[\p{L}\d]+$`)).toEqual([]);
});

test('a number that is too large for JavaScript is a multiple of nothing', () => {
  for (const text of ['1e400', '-1e400'])
    expect(validate({ multipleOf: 0.5 }, JSON.parse(text) as Json)).toEqual(['the value: expected a multiple of 0.5']);
});

test('ordinary patterns and references validate correctly', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: { code: { $ref: '#/$defs/code' } },
    patternProperties: { '^n_': { type: 'number' } },
    $defs: { code: { type: 'string', pattern: '^[a-z]{2}-\\d+$' } },
  };
  expect(validate(schema, { code: 'ab-12', n_one: 1 })).toEqual([]);
  expect(validate(schema, { code: 'ab12' })).toContainEqual(expect.stringMatching(/^\/code: .*pattern/u));
  expect(validate(schema, { n_one: 'one' })).toEqual([expect.stringMatching(/^\/n_one: .*number/u)]);
  expect(validate(doubling(6), 'x')).toEqual([]);
  expect(validate(doubling(6), 5)).not.toEqual([]);
});

test('large ordinary values are checked', () => {
  const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `n${id}`, tags: ['a', 'b'] }));
  const row = {
    type: 'object',
    properties: {
      id: { type: 'integer', minimum: 0 },
      name: { type: 'string', maxLength: 50 },
      tags: { type: 'array', items: { enum: ['a', 'b', 'c'] } },
    },
    required: ['id', 'name'],
    additionalProperties: false,
  };
  expect(validate({ type: 'array', items: row }, rows)).toEqual([]);
  expect(validate({ type: 'string', maxLength: 2_000_000 }, 'x'.repeat(1_000_000))).toEqual([]);
  expect(validate({ type: 'string', pattern: '^[A-Za-z0-9+/]*={0,2}$' }, 'aB3/'.repeat(5_000))).toEqual([]);
  expect(validate({ type: 'string', pattern: '^.{1,5000}$' }, 'x'.repeat(4_000))).toEqual([]);
});

test.each<[string, JsonObject]>([
  ['a plain schema', { type: 'array', items: { type: 'string' } }],
  ['one with a reference', { type: 'array', items: { $ref: '#/$defs/a' }, $defs: { a: { type: 'string' } } }],
])('at most the first hundred of 20,000 wrong items are reported: %s', (_, schema) => {
  const items = Array.from({ length: 20_000 }, (_none, index) => index);
  const problems = validate(schema, items);
  expect(problems.length).toBeGreaterThan(10);
  expect(problems.length).toBeLessThanOrEqual(100);
  expect(problems[0]).toMatch(/^\/0: /u);
});

describe('a pattern that cannot be checked', () => {
  const ahead = { pattern: '^(?!x)' };

  test('is left to a tool, and named with its location and reason', () => {
    const schema = { type: 'object', properties: { q: { type: 'string', ...ahead } } };
    expect(schemaProblem(schema)).toContain('/properties/q/pattern: the pattern uses a look-ahead');
    expect(toolSchemaProblem(schema)).toBeNull();
    expect(uncheckedPatterns(schema)).toEqual(['/properties/q/pattern: the pattern uses a look-ahead "(?!".']);
    expect(validate(schema, { q: 'x' })).toEqual([]);
    expect(validate(schema, { q: 5 })).toEqual(['/q: expected string, got number']);
  });

  // invariant: schema-pattern-undecided
  test.each<[string, JsonObject, Json]>([
    ['not', { not: ahead }, 'a'],
    ['oneOf', { oneOf: [ahead, { type: 'string' }] }, 'a'],
    ['oneOf, none of the others', { oneOf: [ahead, { type: 'number' }] }, 'x'],
    ['anyOf', { anyOf: [ahead, { type: 'number' }] }, 'x'],
    ['if', { if: ahead, else: false }, 'a'],
    ['contains', { contains: { type: 'string', ...ahead } }, ['x']],
    ['maxContains', { contains: { type: 'string', ...ahead }, maxContains: 1 }, ['a', 'a']],
    ['patternProperties', { patternProperties: { '^(?!x)': { type: 'number' } } }, { a: 'text' }],
    ['additionalProperties', { patternProperties: { '^(?!x)': true }, additionalProperties: false }, { x: 1 }],
    [
      'unevaluatedProperties',
      { allOf: [{ patternProperties: { '^(?!x)': true } }], unevaluatedProperties: false },
      { x: 1 },
    ],
  ])('decides nothing, within %s', (_, schema, value) => {
    expect(validate(schema, value)).toEqual([]);
  });

  test.each<[string, JsonObject, Json]>([
    ['another branch', { oneOf: [{ type: 'string' }, { minLength: 1 }, ahead] }, 'a'],
    [
      'both results of a condition',
      JSON.parse(`{"if":${JSON.stringify(ahead)},"then":{"type":"number"},"else":{"type":"number"}}`) as JsonObject,
      'a',
    ],
    ['too few items', { contains: { type: 'string', ...ahead }, minContains: 2 }, ['a', 5]],
    ['another keyword', { allOf: [ahead, { maxLength: 0 }] }, 'a'],
  ])('does not hide what %s decides', (_, schema, value) => {
    expect(validate(schema, value)).not.toEqual([]);
  });

  test('in an output schema is refused before anything runs', () => {
    const lead = agent('lead', { output: { format: 'json', schema: { type: 'string', ...ahead } } });
    return expect(ask(lead)).rejects.toThrow(/Agent "lead", output\.schema: .*look-ahead.*rewrite it, or remove it/u);
  });
});

const search = (called: unknown[], schema: JsonObject) => {
  const find = tool('find', (args) => (called.push(args), 'found'), {
    inputSchema: { type: 'object', properties: { q: schema } },
  });
  return { name: 'docs', list: async () => ({ tools: [find] }) };
};

test('30 calls of one turn against a pattern that would backtrack are answered, and the session continues', async () => {
  const called: unknown[] = [];
  const { outcome, events, requests } = await ask(
    agent('lead', {
      tools: [search(called, { type: 'string', pattern: slowPattern })],
      limits: { maxToolCallsPerTurn: 40 },
    }),
    {
      says: lines({
        lead: [
          calls(...Array.from({ length: 30 }, () => ({ tool: 'docs__find', args: { q: slowText } }))),
          call('docs__find', { q: 'aaa' }),
          'Done.',
        ],
      }),
    },
  );
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(ofType(events, 'tool-end').filter(({ ok }) => ok)).toHaveLength(1);
  const results = lastResults(requests);
  expect(results).toHaveLength(31);
  for (const { text } of results.slice(0, 30)) expect(text).toContain('/q: does not match the pattern "^(a+)+$"');
  expect(called).toEqual([{ q: 'aaa' }]);
});

test('preparing schemas takes steps too, whether or not they are prepared already', () => {
  const schemas = Array.from({ length: 30 }, (_, at): JsonObject => ({
    anyOf: [{ pattern: `^[ab]{1,900}x${at}$` }, true],
  }));
  const check = () => {
    const shared = { left: 1_000_000 };
    return schemas.map((schema) => validate(schema, '', shared).length > 0);
  };
  const refused = check();
  expect(refused.filter(Boolean).length).toBeGreaterThan(0);
  expect(refused).toEqual(refused.toSorted((one, other) => Number(one) - Number(other)));
  expect(check()).toEqual(refused);
});

describe('the calls of one turn share their steps', () => {
  /** Each check takes some 190,000 steps. */
  const schema: JsonObject = { type: 'string', pattern: '[ab]{190}' };
  const q = 'ab'.repeat(500);
  const turn = calls(...Array.from({ length: 8 }, () => ({ tool: 'docs__find', args: { q } })));

  test('past the limit the rest is refused; the next turn starts anew, and a replay says the same', async () => {
    const called: unknown[] = [];
    const lead = agent('lead', { tools: [search(called, schema)] });
    const { outcome, requests, cloister, report } = await ask(lead, {
      says: lines({ lead: [turn, call('docs__find', { q }), 'Done.'] }),
    });
    expect(outcome).toMatchObject({ status: 'completed' });
    const texts = lastResults(requests).map(({ text }) => text);
    const refused = texts.map((text) => text.includes('too costly'));
    expect(refused).toEqual([false, false, false, false, false, true, true, true, false]);
    expect(texts[5]).toContain('send fewer or smaller ones at once');
    expect(called).toHaveLength(6);
    expect((await cloister.replay(report.run)).differences).toEqual([]);
  });

  test('a run that is resumed in the middle of the turn refuses the same calls', async () => {
    const script = [
      { when: { turn: 1 }, reply: turn },
      { when: { turn: 2 }, reply: 'Done with {{results}}' },
    ];
    const { outcome } = await expectResumable(({ clock }) => ({
      agents: [
        defineAgent({
          name: 'lead',
          description: 'Leads.',
          prompt: 'You lead.',
          models: [rehearse(script, { clock })],
          tools: [search([], schema)],
        }),
      ],
      input: 'Go.',
    }));
    expect(outcome.output).toMatch(/found.*too costly/su);
  });
});
