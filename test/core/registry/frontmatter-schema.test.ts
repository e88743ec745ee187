// The shipped JSON Schema and the parser agree on what a frontmatter is, as far as a JSON Schema can express it.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json, JsonObject } from '#base';
import { validate } from '#adapters/schemas';
import { frontmatterSchema } from '#core/registry';
import { parseFrontmatter } from '#testing/core/registry';
import { testRuns } from '../../test-seed.ts';
import { frontmatterFields } from './frontmatter-fields.ts';
import { frontmatters, written } from './frontmatter-files.ts';

const schema = frontmatterSchema();

/** Contradictions between keys, and errors within a schema, cannot be expressed in JSON Schema. */
const unsayable = /keep one|at most `timeout_ms`|is listed twice|is not (?:in|one of)|Two of these/u;

const allProblemsOf = (value: JsonObject): readonly string[] =>
  parseFrontmatter(value, { file: 'a.ai' }).problems.map(({ key, message }) => `${key}: ${message}`);

const problemsOf = (value: JsonObject): readonly string[] =>
  allProblemsOf(value).filter((problem) => !unsayable.test(problem));

/** What only one of the two rejects, and why. The parser may reject more: what a schema cannot express. */
const disagreement = (value: JsonObject): object | null => {
  const [parser, errors] = [allProblemsOf(value), validate(schema, value)];
  const agrees = errors.length > 0 ? parser.length > 0 : problemsOf(value).length === 0;
  return agrees ? null : { value, parser, errors };
};

test('the shipped schema file is current', () =>
  expect(JSON.parse(readFileSync('schemas/frontmatter.schema.json', 'utf8'))).toEqual(schema));

test('every key has a description and examples', () => {
  const properties = schema['properties'] as Readonly<Record<string, JsonObject>>;
  expect(Object.keys(properties)).toEqual(frontmatterFields.map(({ key }) => key));
  for (const { key } of frontmatterFields) {
    const described = (properties[key]!['$ref'] === undefined ? properties : (schema['$defs'] as typeof properties))[
      key
    ]!;
    expect([key, described]).toEqual([
      key,
      expect.objectContaining({ description: expect.any(String), examples: [expect.anything()] }),
    ]);
  }
});

const needed: Readonly<Record<string, JsonObject>> = { gather: { agents: 'a' }, spawns: { tools: 'spawn_agent' } };

test('its own examples and defaults are valid', () => {
  const form = { description: 'x', usage: 'x', output: { format: 'json' } };
  for (const { key, example, default: value } of frontmatterFields)
    for (const one of [example, value ?? example]) {
      const keys = { ...form, ...needed[key], [key]: one };
      expect([key, validate(schema, keys), problemsOf(keys)]).toEqual([key, [], []]);
    }
});

test('valid frontmatters are valid for both, whichever way they are written', () =>
  fc.assert(
    fc.property(frontmatters(), fc.infiniteStream(fc.nat()), (frontmatter, numbers) => {
      const keys = written(frontmatter, (ways) => numbers.next().value % ways);
      expect([validate(schema, keys), problemsOf(keys)]).toEqual([[], []]);
    }),
    { numRuns: 100 },
  ));

test.each<[string, JsonObject, boolean]>([
  ['an item that is listed twice', { grants: ['goal', 'result', 'note', 'goal'] }, true],
  ['an agent that is listed twice', { agents: [{ agent: 'scout' }, { agent: 'scout' }] }, true],
  ['an agent that is listed twice, written in two ways', { agents: ['scout', { agent: 'scout' }] }, false],
])('%s is rejected by the parser, and by the schema where it can tell', (_, keys, bySchema) => {
  const value = { description: 'x', usage: 'x', output: { format: 'text' }, ...keys };
  expect(allProblemsOf(value)).toEqual([expect.stringContaining('is listed twice.')]);
  expect(validate(schema, value).length > 0).toBe(bySchema);
  expect(disagreement(value)).toBeNull();
});

const odd = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, -1, 0.5, 1.5, 1e300, '', ' ', 'text', 'json', 'a/b', '30s', '5x', 'full'),
  fc.constantFrom<Json>([], {}, [null], ['a', 'b/c'], 'http://x', 'a b', 'a b.ai', 'K=v', '${X}', [[]], [{}], 'goal'),
  fc.constantFrom<Json>(
    { format: 'json' },
    { format: 'text', schema: {} },
    { schema: {} },
    { agent: 'x' },
    { timeout: 5 },
  ),
  fc.constantFrom<Json>(
    { format: 'json', schema: { type: 'string' } },
    { maxRetries: -1 },
    { tokens: 'x' },
    { time: '5m' },
  ),
  fc.constantFrom<Json>('spawn_agent', ['spawn_agent'], 'self', ['party-*'], 'a\nb', 'x'.repeat(65), ['parent']),
  fc.constantFrom<Json>({ agents: 'a' }, { templates: true }, { templates: { tools: [] } }, { templates: 'x' }),
  fc.constantFrom<Json>({ hear: 'a' }, { say: [] }, { agents: ['a'], pool: { a: 1 } }, { pool: { '-': 1 } }),
  fc.constantFrom<Json>({ agents: ['a'], grace: '5s' }, { agents: ['a'], children: -1 }, { agents: [] }),
  // The parts of a list with commas are more than a schema can say.
  fc
    .jsonValue({ maxDepth: 2 })
    .map((value) => value as Json)
    .filter((value) => !/"[^"]*,[^"]*"/u.test(JSON.stringify(value))),
);
const keyNames = [
  ...frontmatterFields.map(({ key }) => key),
  'format',
  'schema',
  'tokens',
  'usd',
  'time',
  'hear',
  'say',
  'children',
  'templates',
  'pool',
  'grace',
  'unknown',
  'constructor',
];

/** The frontmatter with one random change. */
const mutated = (value: Json, steer: number, key: string, other: Json): Json => {
  if (Array.isArray(value)) {
    const index = steer % (value.length + 1);
    return index === value.length
      ? [...value, other]
      : value.with(index, mutated(value[index] as Json, steer >> 2, key, other));
  }
  if (typeof value !== 'object' || value === null || steer === 0) return other;
  const keys = Object.keys(value);
  const at = keys[steer % Math.max(1, keys.length)] ?? key;
  const { [at]: old = null, ...rest } = value as Record<string, Json>;
  switch ((steer >> 3) % 4) {
    case 0:
      return rest;
    case 1:
      return { ...value, [key]: other };
    case 2:
      return { ...rest, [at]: other };
    default:
      return { ...rest, [at]: mutated(old, steer >> 5, key, other) };
  }
};

test('the parser and the schema reject the same mistakes', () =>
  fc.assert(
    fc.property(
      frontmatters(),
      fc.infiniteStream(fc.nat()),
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...keyNames), odd), { minLength: 1, maxLength: 2 }),
      (frontmatter, numbers, changes) => {
        const keys = written(frontmatter, (ways) => numbers.next().value % ways);
        const changed = changes.reduce<Json>(
          (value, [steer, key, other]) => mutated(value, steer + 1, key, other),
          keys,
        );
        expect(disagreement(changed as JsonObject)).toBeNull();
      },
    ),
    { numRuns: testRuns(1_000) },
  ));
