// Which values are JSON Schemas, and that every accepted schema can be used.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '#base';
import { schemaProblem, validate } from '#adapters/schemas';
import { agent, tool } from '../../core/session/driver.ts';
import frontmatter from '../../../schemas/frontmatter.schema.json' with { type: 'json' };

const nested = (levels: number): JsonObject => {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = { not: schema };
  return schema;
};

/** A library for references took twice as long for each. */
const addresses = (levels: number): JsonObject => {
  let schema: JsonObject = {};
  for (let level = 0; level < levels; level++) schema = { $id: `https://x.example/${level}`, not: schema };
  return { ...schema, $ref: '#/nowhere' };
};

const circle = (): unknown => {
  const schema: Record<string, unknown> = { type: 'object' };
  return Object.assign(schema, { properties: { again: schema } });
};

describe('refused, with the location', () => {
  // invariants: schema-fetches-nothing, schema-bounds-before-recursion
  test.each<[string, unknown, RegExp]>([
    ['text', 'fast', /^expected a schema.*"fast"/u],
    ['a list', [], /^expected a schema.*an empty list/u],
    ['an unknown type', { type: 'strin' }, /^\/type: "strin" is not a type; the types are array, /u],
    ['a number as type', { type: 5 }, /^\/type: 5 is not a type/u],
    ['one wrong type of two', { type: ['null', 'text'] }, /^\/type: "text"/u],
    ['no types', { type: [] }, /^\/type: .*empty/u],
    ['properties that are a number', { properties: 5 }, /^\/properties: .*got 5/u],
    ['properties in a list', { properties: [{ type: 'string' }] }, /^\/properties: .*a list/u],
    ['a property that is a number', { properties: { a: 5 } }, /^\/properties\/a: expected a schema.*got 5/u],
    ['a location with special characters', { $defs: { 'a/b~c': { type: 1 } } }, /^\/\$defs\/a~1b~0c\/type: /u],
    ['required as a string', { required: 'x' }, /^\/required: expected a list of names/u],
    ['required as in draft 3', { properties: { a: { required: true } } }, /^\/properties\/a\/required/u],
    ['a pattern that does not compile', { pattern: '(' }, /^\/pattern: Invalid regular expression/u],
    ['a pattern that is invalid with `u`', { pattern: '[\\w-.]' }, /^\/pattern: Invalid regular expression/u],
    ['a pattern for names', { patternProperties: { '(': {} } }, /^\/patternProperties\/\(: Invalid/u],
    ['an enum that is not a list', { enum: 3 }, /^\/enum: expected a list/u],
    ['a length as a string', { minLength: 'many' }, /^\/minLength: .*"many"/u],
    ['a length below zero', { minLength: -1 }, /^\/minLength: .*-1/u],
    ['a fractional number of items', { maxItems: 0.5 }, /^\/maxItems: /u],
    ['a bound as a string', { minimum: '3' }, /^\/minimum: expected a number, got "3"/u],
    ['a bound as in draft 4', { exclusiveMinimum: true }, /^\/exclusiveMinimum: expected a number, got true/u],
    ['multipleOf zero', { multipleOf: 0 }, /^\/multipleOf: .*> 0/u],
    ['items as a string', { items: 'text' }, /^\/items: expected a schema/u],
    ['a wrong item of a list', { items: [{}, 3] }, /^\/items\/1: expected a schema/u],
    ['anyOf that is not a list', { anyOf: {} }, /^\/anyOf: expected a list of schemas/u],
    ['an empty anyOf', { anyOf: [] }, /^\/anyOf: .*empty list/u],
    ['a branch as a string', { oneOf: [{ type: 'object' }, 'x'] }, /^\/oneOf\/1: /u],
    ['additionalProperties as a string', { additionalProperties: 'no' }, /^\/additionalProperties: /u],
    ['a dependency on a number', { dependencies: { a: [1] } }, /^\/dependencies\/a: /u],
    ['a dependency on text', { dependentRequired: { a: 'b' } }, /^\/dependentRequired: /u],
    ['a format that is a number', { format: 5 }, /^\/format: /u],
    [
      'a look-ahead',
      { items: { pattern: '^(?=a)' } },
      /^\/items\/pattern: the pattern uses a look-ahead "\(\?="\. .*rewrite/u,
    ],
    ['a look-behind of names', { patternProperties: { '(?<!a)b': {} } }, /^\/patternProperties\/.*look-behind/u],
    ['a back-reference', { pattern: '(a)\\1' }, /^\/pattern: the pattern uses a back-reference "\\1"/u],
    ['a huge repetition', { pattern: '(?:a{1000}){1000}' }, /^\/pattern: the pattern is too large/u],
    ['a pattern that is too long', { pattern: 'ab'.repeat(2_500) }, /too large/u],
    [
      'too many patterns',
      { anyOf: Array.from({ length: 40 }, (_, at) => ({ pattern: `^[a-z]{300}${at}$` })) },
      /^\/anyOf\/\d+\/pattern: .*one too many/u,
    ],
    ['references that double at each of 40 addresses', addresses(40), /^\/\$ref: there is no schema/u],
    ['a function', { type: 'object', check: () => true }, /^\/check: a function is not JSON/u],
    ['an unconverted zod schema', z.object({ a: z.string() }), /not JSON/u],
    ['a reference to nothing', { $ref: '#/$defs/x' }, /^\/\$ref: there is no schema at "#\/\$defs\/x"/u],
    ['an unknown anchor', { items: { $ref: '#node' } }, /^\/items\/\$ref: there is no schema at "#node"/u],
    ['a reference into data', { $ref: '#/examples/0', examples: [{}] }, /no schema/u],
    [
      'an external reference',
      { $ref: 'https://x.example/a.json' },
      /references are not fetched; put it under `\$defs`/u,
    ],
    ['a reference in words that is empty', { $ref: '' }, /^\/\$ref: /u],
    ['what is referred to', { $ref: '#/mine/a', mine: { a: { type: 'strin' } } }, /"strin" is not a type/u],
    ['a dynamic reference', { $dynamicRef: '#a' }, /^\/\$dynamicRef: .*use `\$ref`/u],
    [
      'two schemas with the same address',
      { $id: 'https://x.example/a', $defs: { b: { $id: 'https://x.example/a' } } },
      /Duplicate/u,
    ],
    ['itself', { $ref: '#' }, /itself endlessly/u],
    [
      'an indirect reference to itself',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } } },
      /end/u,
    ],
    ['a depth of 1,000', nested(1_000), /deeper than 100/u],
    ['a depth of 100,000', nested(100_000), /deeper than 100/u],
    ['cyclic objects', circle(), /deeper than 100/u],
    ['a million names', { enum: Array.from({ length: 1_000_000 }, String) }, /more than 50000 values/u],
  ])('%s', (_, schema, words) => {
    expect(schemaProblem(schema)).toMatch(words);
  });
});

/** As servers and libraries write them. */
const ordinary: readonly (readonly [string, JsonObject])[] = [
  ['nothing', {}],
  [
    'draft 7',
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      definitions: { path: { type: 'string', minLength: 1, pattern: '^/', examples: ['/tmp'], default: '/' } },
      properties: {
        path: { $ref: '#/definitions/path', description: 'Where.' },
        when: { type: ['string', 'null'], format: 'date-time', nullable: true, deprecated: true },
        size: { type: 'integer', minimum: 0, exclusiveMaximum: 10, multipleOf: 0.5, default: 1 },
        pair: { type: 'array', items: [{ type: 'string' }, true], additionalItems: false, uniqueItems: true },
        $ref: { type: 'string' },
      },
      dependencies: { size: ['path'], pair: { required: ['path'] } },
      required: ['path'],
      additionalProperties: false,
      'x-order': ['path'],
    },
  ],
  [
    'draft 2020-12 with repeated names',
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://x.example/tree',
      $anchor: 'tree',
      type: 'object',
      properties: {
        left: { $ref: '#' },
        right: { $ref: '#tree' },
        leaf: { $ref: 'https://x.example/tree#/$defs/leaf' },
        list: { type: 'array', prefixItems: [{ const: null }], items: false, contains: true, minContains: 0 },
      },
      $defs: { leaf: { anyOf: [{ type: 'string', enum: ['a', 1, null] }, { $ref: '#/$defs/other' }] }, other: {} },
      patternProperties: { '^x-\\p{L}+$': { not: {} } },
      propertyNames: { maxLength: 40 },
      dependentRequired: { left: ['right'] },
      if: { required: ['left'] },
      else: { minProperties: 2 },
      unevaluatedProperties: { type: 'string' },
    },
  ],
  ['data that looks like schemas', { default: { $ref: '#/no' }, const: { type: 5 }, enum: [{ pattern: '(' }] }],
  ['from zod', z.toJSONSchema(z.object({ a: z.email().optional(), b: z.record(z.string(), z.int()) })) as JsonObject],
  ['our own, for frontmatter', frontmatter],
];

const values: readonly unknown[] = [null, true, 0, 2.5, 'a', '/x', [], [null, 'a'], {}].concat(
  { path: '/a', size: 4, pair: ['a', 1], when: null } as any,
  { left: {}, right: { leaf: 'a' }, list: [null] } as any,
);

describe('accepted', () => {
  test.each(ordinary)('%s', (_, schema) => {
    expect(schemaProblem(schema)).toBeNull();
    for (const value of values) expect(() => validate(schema, value as any)).not.toThrow();
  });

  test('every schema that the library creates', () => {
    const children = ordinary
      .filter(([, { type }]) => type === undefined || type === 'object')
      .map(([, schema], at) => agent(`child${at}`, { input: { format: 'json', schema } }));
    const lead = agent('lead', {
      agents: [...children, agent('text')],
      gather: { timeoutMs: 1 },
      tools: ['read_file', 'write_file', 'list_files', tool('echo', () => '')],
    });
    const made = lead.definition.tools.map(({ name, inputSchema }) => [name, schemaProblem(inputSchema)]);
    expect(made).toEqual(made.map(([name]) => [name, null]));
    expect(made.length).toBeGreaterThan(children.length + 5);
  });
});

/** Schemas and things that are nearly schemas: a few keywords each. */
const anySchema = fc.letrec<{ schema: unknown; map: unknown; list: unknown }>((tie) => {
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.constantFrom<unknown>('string', 'object', 'array', ['null', 'integer'], 'strin'),
    $ref: fc.constantFrom('#', '#/$defs/a', '#/properties/a', '#one', '#/items', '#/mine', 'https://x.example/'),
    $anchor: fc.constantFrom('one', 'two'),
    $id: fc.constantFrom('https://x.example/', 'b', '#one', 'http://['),
    pattern: fc.constantFrom('a', '(', '\\p{L}'),
    format: fc.constantFrom('email', 'none', 'valueOf'),
    enum: fc.constantFrom<unknown>([], ['a', {}], 3),
    required: fc.constantFrom<unknown>([], ['a'], 'a'),
    multipleOf: fc.constantFrom<unknown>(2, 0),
    properties: tie('map'),
    patternProperties: tie('map'),
    dependencies: tie('map'),
    $defs: tie('map'),
    allOf: tie('list'),
    items: fc.oneof(tie('schema'), tie('list')),
    not: tie('schema'),
    additionalProperties: tie('schema'),
    mine: tie('schema'),
  };
  const entries = Object.entries(keywords).map(([key, value]) => fc.tuple(fc.constant(key), value));
  return {
    map: fc.dictionary(fc.constantFrom('a', 'b', '(', 'type', '$ref', 'a/b'), tie('schema'), {
      minKeys: 1,
      maxKeys: 2,
    }),
    list: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
    schema: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'schema' },
      fc.constantFrom<unknown>(true, false, {}, { type: 'string' }, { $ref: '#' }, 5),
      fc.array(fc.oneof(...entries), { minLength: 1, maxLength: 3 }).map((some) => Object.fromEntries(some) as unknown),
    ),
  };
});

// invariant: schema-passed-never-throws
test('an accepted schema can validate any value', () => {
  let passed = 0;
  fc.assert(
    fc.property(anySchema.schema, fc.jsonValue({ maxDepth: 3 }), (schema, value) => {
      if (schemaProblem(schema) !== null || typeof schema !== 'object') return;
      if (Object.keys(schema as object).length > 0) passed++;
      for (const one of [value, ...values, { a: value, b: [value] }]) validate(schema as JsonObject, one as any);
    }),
    { numRuns: 5_000 },
  );
  expect(passed).toBeGreaterThan(200);
});

test('checking a schema does not change it', () => {
  for (const [, schema] of ordinary) {
    const before = JSON.stringify(schema);
    schemaProblem(schema);
    expect(JSON.stringify(schema)).toBe(before);
    expect(Object.getOwnPropertyNames(schema)).not.toContain('__absolute_uri__');
  }
});
