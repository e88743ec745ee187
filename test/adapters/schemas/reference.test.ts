// The evaluator counts steps, which no library does; a library is the reference for its verdicts.
import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json, JsonObject } from '#base';
import { schemaProblem, validate } from '#adapters/schemas';

const leaves: readonly Json[] = [null, true, false, 0, 1, 2, 2.5, -1, '', 'a', 'b', 'ab', 'é😀', 'x-1'];
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'value' },
    fc.constantFrom(...leaves),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'x-1', 'c'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
  ),
})).value;

const schemas = fc.letrec<{ schema: unknown }>((tie) => {
  const few = fc.integer({ min: 0, max: 3 });
  const schema = tie('schema');
  const list = fc.array(schema, { minLength: 1, maxLength: 3 });
  const map = (...names: readonly string[]) =>
    fc.dictionary(fc.constantFrom(...names), schema, { minKeys: 1, maxKeys: 2 });
  const types = ['string', 'object', 'array', 'integer', 'number', 'null', ['null', 'integer'], ['array', 'object']];
  const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: fc.constantFrom<unknown>(...types),
    const: value,
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    $ref: fc.constantFrom('#/$defs/a', '#/$defs/b', '#one'),
    ...Object.fromEntries(['not', 'if', 'then', 'else', 'contains', 'propertyNames'].map((key) => [key, schema])),
    ...Object.fromEntries(['additionalProperties', 'additionalItems'].map((key) => [key, schema])),
    ...Object.fromEntries(['anyOf', 'allOf', 'oneOf', 'prefixItems'].map((key) => [key, list])),
    items: fc.oneof(schema, list),
    properties: map('a', 'b', 'c'),
    patternProperties: map('^x-', 'a', '[bc]'),
    dependentSchemas: map('a', 'b'),
    required: fc.subarray(['a', 'b']),
    dependentRequired: fc.constantFrom({ a: ['b'] }, { b: ['c', 'a'] }),
    dependencies: fc.constantFrom<unknown>({ a: ['b'] }, { c: { required: ['a'] } }),
    ...Object.fromEntries(['minProperties', 'maxProperties', 'minItems', 'maxItems'].map((key) => [key, few])),
    ...Object.fromEntries(['minContains', 'maxContains', 'minLength', 'maxLength'].map((key) => [key, few])),
    uniqueItems: fc.boolean(),
    minimum: fc.constantFrom(0, 1.5),
    maximum: fc.constantFrom(0, 2),
    exclusiveMinimum: fc.constantFrom(0, 1),
    exclusiveMaximum: fc.constantFrom(2, 2.5),
    multipleOf: fc.constantFrom(1, 2, 0.5),
    pattern: fc.constantFrom('^a', 'b$', '\\d', '^.{2}$'),
    format: fc.constantFrom('email', 'date', 'uri'),
  };
  const entries = Object.entries(keywords).map(([key, one]) => fc.tuple(fc.constant(key), one));
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'schema' },
      fc.constantFrom<unknown>(true, false, {}, { type: 'string' }, { type: 'object' }),
      fc.array(fc.oneof(...entries), { minLength: 1, maxLength: 4 }).map((some) => Object.fromEntries(some) as unknown),
    ),
  };
}).schema;

const definition = fc.constantFrom<Json>(
  true,
  { type: 'string' },
  { required: ['a'] },
  { items: { $ref: '#/$defs/a' } },
  { properties: { a: { $ref: '#/$defs/b' } } },
);

test('every verdict is that of the reference', () => {
  let [valid, invalid] = [0, 0];
  fc.assert(
    fc.property(schemas, definition, fc.array(value, { minLength: 4, maxLength: 4 }), (drawn, a, values) => {
      if (typeof drawn !== 'object') return;
      const schema = { ...drawn, $defs: { a, b: { $anchor: 'one', type: ['integer', 'object'] } } } as JsonObject;
      if (schemaProblem(schema) !== null) return;
      const reference = new Validator(structuredClone(schema), '2020-12', false);
      for (const one of values) {
        const expected = reference.validate(one).valid;
        if (expected) valid++;
        else invalid++;
        expect(validate(schema, one).length === 0, JSON.stringify([schema, one])).toBe(expected);
      }
    }),
    { numRuns: 1_500 },
  );
  expect(Math.min(valid, invalid)).toBeGreaterThan(1_000);
});

const closed = { unevaluatedProperties: false };
const condition = JSON.parse(
  '{"if":{"properties":{"a":true},"required":["a"]},"then":{"properties":{"b":true}}}',
) as JsonObject;
const named = (name: string) => ({ properties: { [name]: true } });

/** The reference lets inner schemas see what outer ones have seen, which the specification does not. */
test.each<[string, JsonObject, Json, boolean]>([
  ['properties beside it', { ...named('a'), ...closed }, { a: 1 }, true],
  ['what is left', { ...named('a'), ...closed }, { a: 1, b: 2 }, false],
  ['what branches have seen', { allOf: [named('a')], anyOf: [named('b'), false], ...closed }, { a: 1, b: 2 }, true],
  ['all valid branches', { anyOf: [named('a'), named('b')], ...closed }, { a: 1, b: 2 }, true],
  ['an invalid branch', { anyOf: [{ ...named('a'), required: ['z'] }, named('b')], ...closed }, { a: 1, b: 2 }, false],
  ['a condition', { ...condition, ...closed }, { a: 1, b: 2 }, true],
  ['a condition that fails', { ...condition, ...closed }, { b: 2 }, false],
  ['a reference', { $ref: '#/$defs/x', $defs: { x: named('a') }, ...closed }, { a: 1 }, true],
  ['dependent schemas', { ...named('a'), dependentSchemas: { a: named('b') }, ...closed }, { a: 1, b: 2 }, true],
  ['not "not"', { not: { not: named('a') }, ...closed }, { a: 1 }, false],
  ['not outer schemas', { ...named('a'), allOf: [closed] }, { a: 1 }, false],
  ['not siblings', { allOf: [named('a'), closed] }, { a: 1 }, false],
  ['nested ones', { allOf: [{ ...named('a'), unevaluatedProperties: true }], ...closed }, { a: 1, b: 2 }, true],
  ['additionalProperties', { allOf: [{ additionalProperties: true }], ...closed }, { b: 2 }, true],
  ['items', { prefixItems: [true], unevaluatedItems: false }, [1], true],
  ['items that are left', { prefixItems: [true], unevaluatedItems: false }, [1, 2], false],
  ['contained items', { contains: { const: 2 }, prefixItems: [true], unevaluatedItems: false }, [1, 2], true],
  ['items of branches', { allOf: [{ items: { type: 'number' } }], unevaluatedItems: false }, [1, 2], true],
])('unevaluated properties and items consider %s', (_, schema, one, expected) => {
  expect(validate(schema, one).length === 0).toBe(expected);
});

test.each<[string, JsonObject, Json, boolean]>([
  ['an anchor', { $ref: '#one', $defs: { x: { $anchor: 'one', type: 'string' } } }, 5, false],
  ['an old anchor', { $ref: '#one', $defs: { x: { $id: '#one', type: 'string' } } }, 5, false],
  ['escaped names', { $ref: '#/$defs/a~1b%25', $defs: { 'a/b%': { type: 'string' } } }, 5, false],
  [
    'an address in the schema',
    {
      $id: 'https://x.example/a/',
      $ref: 'b',
      $defs: { x: { $id: 'b', $ref: '#/$defs/y', $defs: { y: { type: 'string' } } } },
    },
    5,
    false,
  ],
  ['an unknown keyword', { $ref: '#/mine/a', mine: { a: { items: { $ref: '#/mine/b' } }, b: false } }, [1], false],
  ['a list', { $ref: '#/allOf/1', allOf: [true, { type: 'string' }] }, 5, false],
  ['itself', { properties: { a: { $ref: '#' } }, required: ['b'] }, { b: 1, a: { b: 2 } }, true],
])('a reference leads to %s', (_, schema, one, expected) => {
  expect(schemaProblem(schema)).toBeNull();
  expect(validate(schema, one).length === 0).toBe(expected);
});

test.each([
  [19.99, 0.01, true],
  [0.3, 0.1, true],
  [1e300, 1e-300, true],
  [1e-7, 1e-8, true],
  [1.5, 1, false],
  [-4, 2, true],
  [-0.75, 0.5, false],
])('%d is a multiple of %d: %s', (one, multipleOf, expected) => {
  expect(validate({ multipleOf }, one).length === 0).toBe(expected);
});
