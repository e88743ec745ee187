// A shape says the same in all of its uses: as a reader, as a JSON Schema, and as a type.
import fc from 'fast-check';
import { expect, expectTypeOf, test } from 'vitest';
import type { Json } from '#base';
import {
  about,
  amount,
  either,
  boolean,
  json,
  listOf,
  mapOf,
  object,
  oneOf,
  oneOrMore,
  orEmpty,
  openObject,
  orNull,
  pattern,
  problemText,
  problemsIn,
  readShape,
  jsonSchemaOf,
  storedShape,
  string,
  whole,
  withShort,
  withSomeOf,
} from '#base/shapes';
import type { Of, Shape, ShapeFields } from '#base/shapes';
import { validate } from '#adapters/schemas';
import { testRuns } from '../test-seed.ts';

const leaves: readonly Shape[] = [
  string(),
  pattern('^[a-c]{1,3}$', 'one to three of a, b and c'),
  pattern('\\S', 'text', 'x'),
  boolean(),
  whole(),
  whole(1, 3),
  amount(),
  amount(-1, 1),
  oneOf('a', 'b'),
  oneOf('a', null),
  orNull(whole()),
  json(),
];
const names = ['a', 'b', 'c', 'constructor'];

const shapes = fc.letrec<{ shape: Shape; fields: ShapeFields }>((tie) => ({
  fields: fc.dictionary(fc.constantFrom(...names), tie('shape'), { maxKeys: 3 }),
  shape: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...leaves),
    fc.tuple(tie('shape'), fc.nat(1)).map(([of, min]) => listOf(of, min)),
    fc.constantFrom(...leaves.slice(0, 9)).map((of) => oneOrMore(of, 1)),
    tie('shape').map((of) => mapOf(of)),
    fc.constantFrom(...leaves.slice(0, 9)).map((of) => mapOf(of, pattern('^[ab]$', 'a or b'))),
    fc.tuple(tie('fields'), tie('fields')).map(([required, optional]) => object(required, optional)),
    fc.tuple(tie('fields'), tie('fields')).map(([required, optional]) => openObject(required, optional)),
    tie('fields').map((fields) => withSomeOf(object({}, { ...fields, a: string() }), 'a', 'b')),
    tie('fields').map((fields) => orEmpty(object({}, fields))),
    tie('fields').map((fields) => withShort(object({}, { ...fields, a: whole() }), 'a')),
    tie('fields').map((fields) => withShort(withSomeOf(object({}, { ...fields, a: whole() }), 'a', 'b'), 'a')),
    tie('fields').map((fields) => either('a flag or an object', boolean(), object(fields))),
  ),
})).shape;

const values = fc.oneof(
  fc.constantFrom<Json>(null, true, 0, 1, 4, -1, 0.5, 1e300, '', ' ', 'a', 'b', 'abcd', 'x', [], {}, ['a'], ['a', 'a']),
  fc.constantFrom<Json>({ a: 'a' }, { a: 1, b: 2 }, { constructor: 1 }, [{}], { a: [] }, { b: null }, { a: { a: 1 } }),
  fc.jsonValue({ maxDepth: 3 }).map((value) => value as Json),
);

/** A value that the shape is likely to accept, or to refuse for one reason. */
const near = (shape: Shape, choose: (from: number) => number): Json => {
  if (choose(12) === 0) return [null, 'a', 7, {}, [1]][choose(5)]!;
  switch (shape.is) {
    case 'text':
      return ['a', 'bb', 'x y', ''][choose(4)]!;
    case 'number':
      return [1, 0.5, shape.min, shape.max + 1][choose(4)]!;
    case 'flag':
      return true;
    case 'choice':
      return shape.of[choose(shape.of.length)] ?? null;
    case 'list':
      return Array.from({ length: choose(3) }, () => near(shape.of, choose));
    case 'map':
      return Object.fromEntries(names.slice(0, choose(3)).map((name) => [name, near(shape.of, choose)]));
    case 'object':
      return Object.fromEntries(
        Object.entries(shape.fields)
          .filter(([name]) => shape.required.includes(name) || choose(2) === 0)
          .map(([name, field]) => [name, near(field, choose)]),
      );
    case 'either':
      return near(shape.of[choose(shape.of.length)]!, choose);
    default:
      return null;
  }
};

// invariant: shape-equals-schema
test('a value has no problems exactly if the JSON Schema of its shape accepts it', () => {
  let accepted = 0;
  let all = 0;
  fc.assert(
    fc.property(shapes, values, fc.infiniteStream(fc.nat()), (shape, odd, numbers) => {
      const schema = jsonSchemaOf(shape);
      for (const value of [odd, near(shape, (from) => numbers.next().value % from)]) {
        const problems = problemsIn(shape, value).map((problem) => problemText(problem, 'key'));
        const errors = validate(schema, value);
        expect({
          value,
          schema,
          errors,
          problems,
          same: (problems.length === 0) === (errors.length === 0),
        }).toMatchObject({
          same: true,
        });
        all += 1;
        accepted += problems.length === 0 ? 1 : 0;
      }
    }),
    { numRuns: testRuns(3_000) },
  );
  // Otherwise the agreement would say little.
  expect(accepted / all).toBeGreaterThan(0.2);
  expect(accepted / all).toBeLessThan(0.8);
});

const person = object(
  { name: string(), age: whole(0, 200) },
  { tags: listOf(oneOf('new', 'old')), home: object({ street: string() }) },
);

test('a shape has the type of the values that it accepts', () => {
  expectTypeOf<Of<typeof person>>().toEqualTypeOf<{
    readonly name: string;
    readonly age: number;
    readonly tags?: readonly ('new' | 'old')[];
    readonly home?: { readonly street: string };
  }>();
  const fits: Of<typeof person> = { name: 'Ada', age: 36, tags: ['new'] };
  expect(problemsIn(person, fits)).toEqual([]);
});

// invariants: shape-reports-all, shape-own-keys
test.each([
  [{ name: 'Ada' }, ['age: expected a whole number from 0 to 200; got nothing.']],
  [{ nmae: 'Ada', name: 'Ada', age: 1 }, ['nmae: unknown key. Did you mean name?']],
  [{ name: 'Ada', age: 1, zzzzz: 1 }, ['zzzzz: unknown key. Known: name, age, tags, home.']],
  [
    { age: 1, name: 5, toString: 1, constructor: 1 },
    [
      'toString: unknown key. Known: name, age, tags, home.',
      'constructor: unknown key. Known: name, age, tags, home.',
      'name: expected a string; got 5.',
    ],
  ],
  [{ name: 5, age: 'x' }, ['name: expected a string; got 5.', 'age: expected a whole number from 0 to 200; got "x".']],
  [{ name: 'Ada', age: 1, tags: ['odl'] }, ['tags[0]: expected new or old; got "odl".']],
  [{ name: 'Ada', age: 1, home: {} }, ['home.street: expected a string; got nothing.']],
  [[], ['The value: expected an object; got a list.']],
])('problems name path, expectation and the nearest key: %j', (value, texts) =>
  expect(problemsIn(person, value).map((problem) => problemText(problem, 'key'))).toEqual(texts),
);

const written = object(
  {},
  {
    wait: about({ ...whole(), into: ['waitMs'] }, 'How long.'),
    waitMs: { ...whole(), aliasOf: 'wait' },
    step: { ...whole(), into: ['limits', 'step'] },
    limits: orEmpty(object({}, { step: whole(), other: whole() })),
    names: oneOrMore(string()),
  },
);

test('what is written in several ways is stored in one', () => {
  const stored = (value: Json): unknown =>
    readShape(written, value, { report: (problem) => expect(problem).toBeNull() });
  expect(stored({ wait: 5, names: 'a' })).toEqual({ waitMs: 5, names: ['a'] });
  expect(stored({ step: 1, limits: { other: 2 } })).toEqual({ limits: { step: 1, other: 2 } });
  expect(stored({ limits: { step: 1 }, step: 1 })).toEqual({ limits: { step: 1 } });
  expect(stored({ limits: null })).toEqual({});
  expect(stored({ limits: {} })).toEqual({});
});

test('two keys that are stored at one place must agree', () => {
  const texts = problemsIn(written, { step: 1, limits: { step: 2 } }).map((problem) => problemText(problem, 'key'));
  expect(texts).toEqual(['limits.step: here it is 2, but step says 1.']);
});

test('the shape of what is stored has no aliases, and takes what code writes', () => {
  const stored = storedShape(written);
  expect(problemsIn(stored, { waitMs: 5, limits: { step: 1 }, names: ['a'] })).toEqual([]);
  expect(problemsIn(stored, { wait: 5 })).toHaveLength(1);
  expect(problemsIn(stored, { names: 'a' })).toHaveLength(1);
});
