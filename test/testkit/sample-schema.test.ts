// Arguments and goals drawn from JSON Schemas.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import type { JsonObject } from '#base';
import { Rng } from '../../src/testkit/isolation/rng.ts';
import { validSample, sampleSchema } from '../../src/testkit/isolation/sample-schema.ts';

const { schema } = fc.letrec<{ schema: JsonObject; leaf: JsonObject }>((tie) => ({
  leaf: fc.oneof(
    fc.record({ type: fc.constant('string'), minLength: fc.nat(3), maxLength: fc.integer({ min: 3, max: 9 }) }),
    fc.record({
      type: fc.constant('integer'),
      minimum: fc.integer({ min: -5, max: 5 }),
      maximum: fc.integer({ min: 5, max: 9 }),
    }),
    fc.record({ type: fc.constant('number'), exclusiveMinimum: fc.integer({ min: -5, max: 5 }) }),
    fc.record({ type: fc.constant('integer'), multipleOf: fc.integer({ min: 1, max: 7 }) }),
    fc.record({
      enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ const: fc.oneof(fc.string(), fc.boolean()) }),
    fc.record({ type: fc.constantFrom('boolean', 'null', ['string', 'null']) }),
    fc.record({
      type: fc.constant('string'),
      format: fc.constantFrom('date', 'email', 'uuid', 'uri', 'ipv4', 'date-time'),
    }),
    fc.record({ type: fc.constant('string'), pattern: fc.constantFrom('^[a-z]', '^[0-9]+$', '@', '^[0-9a-f]{12}$') }),
    fc.constant({}),
  ),
  schema: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(2) }),
    fc
      .tuple(fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/u), tie('schema'), { maxKeys: 4 }), fc.nat(4), fc.boolean())
      .map(([properties, needed, isOpen]) => ({
        type: 'object',
        properties,
        required: Object.keys(properties).slice(0, needed),
        additionalProperties: isOpen,
      })),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ $ref: fc.constant('#/$defs/one'), $defs: fc.record({ one: tie('leaf') }) }),
  ),
}));

test('a valid value is found for every common schema', () =>
  fc.assert(
    fc.property(schema, fc.nat(), (one, seed) => {
      // A `$ref` resolves against the root, so only a root that has the definitions may use one.
      fc.pre(!JSON.stringify(one).slice(1).includes('"$ref"') || '$ref' in one);
      const value = validSample(one, String(seed), validate);
      expect(value).not.toBeUndefined();
      expect(validate(one, value!)).toEqual([]);
    }),
    { numRuns: 300 },
  ));

test('the same seed draws the same value, and most other seeds another value', () => {
  const one = { type: 'object', properties: { q: { type: 'string' }, n: { type: 'integer' } }, required: ['q', 'n'] };
  const draw = (seed: string) => JSON.stringify(sampleSchema(one, new Rng(seed)));
  expect(draw('a')).toBe(draw('a'));
  expect(new Set(Array.from({ length: 50 }, (_, index) => draw(String(index)))).size).toBe(50);
});

test('every character of a seed changes the draws', () =>
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 200 }), fc.nat(), (text, at) => {
      const place = at % text.length;
      const other = `${text.slice(0, place)}${String.fromCharCode((text.charCodeAt(place) + 1) % 0x10000)}${text.slice(place + 1)}`;
      expect(new Rng(other).hex()).not.toBe(new Rng(text).hex());
    }),
  ));

test('a recursive schema works', () => {
  const tree = {
    type: 'object',
    properties: { name: { type: 'string' }, below: { type: 'array', items: { $ref: '#' } } },
    required: ['name', 'below'],
  };
  for (let seed = 0; seed < 50; seed++) expect(validSample(tree, String(seed), validate)).toHaveProperty('below');
});
