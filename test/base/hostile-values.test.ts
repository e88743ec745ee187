// Values that no well-meaning caller sends: they are read once, reported, and change nothing but what they say.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseStrictJson } from '#base';
import { json, listOf, mapOf, object, problemText, problemsIn, readShape, string, whole } from '#base/shapes';
import type { Shape } from '#base/shapes';
import { testRuns } from '../test-seed.ts';

const read = (shape: Shape, value: unknown) => {
  const problems: string[] = [];
  const result = readShape(shape, value, { report: (one) => void problems.push(problemText(one, 'key')) });
  return { result, problems };
};

const parsed = (text: string): unknown => JSON.parse(text);
const fields = object(
  { name: string() },
  { count: whole(), tags: listOf(string()), servers: mapOf(whole()), any: json() },
);

test('`__proto__` is an unknown key of an object and a plain name in a map, and changes no prototype', () => {
  const { result, problems } = read(fields, parsed('{"name":"a","__proto__":{"count":7}}'));
  expect(problems).toEqual([expect.stringContaining('__proto__: unknown key')]);
  expect((result as { count?: number }).count).toBeUndefined();
  const servers = read(mapOf(whole()), parsed('{"__proto__":1,"constructor":2}')).result as object;
  expect(Object.getPrototypeOf(servers)).toBe(Object.prototype);
  expect(Object.entries(servers)).toEqual([
    ['__proto__', 1],
    ['constructor', 2],
  ]);
  expect(({} as { count?: number }).count).toBeUndefined();
});

test('inherited keys are not read', () => {
  const { problems } = read(fields, Object.create({ name: 'inherited' }));
  expect(problems).toEqual(['name: expected a string; got nothing.']);
});

// invariant: shape-reads-once
test('a getter is read once, so that what was checked is what is kept', () => {
  const changing = (first: unknown, later: unknown) => {
    let times = 0;
    return { enumerable: true, get: () => (times++ === 0 ? first : later) };
  };
  const value = Object.defineProperties({}, { name: changing('checked', 7), count: changing(undefined, 'x') });
  expect(read(fields, value)).toEqual({ result: { name: 'checked' }, problems: [] });
  const list = Object.defineProperty([], 0, changing('checked', 7));
  expect(read(listOf(string()), list)).toEqual({ result: ['checked'], problems: [] });
  const map = Object.defineProperty({}, 'a', changing(1, 'x'));
  expect(read(mapOf(whole()), map)).toEqual({ result: { a: 1 }, problems: [] });
});

test('a getter that throws is a problem of its key, and the rest is read', () => {
  const throwing = {
    enumerable: true,
    get: () => {
      throw new Error('secret');
    },
  };
  const problem = 'This value cannot be read: its getter throws.';
  const value = Object.defineProperties({ count: 1 }, { name: throwing, unknown: throwing });
  const { result, problems } = read(fields, value);
  expect(result).toEqual({ count: 1 });
  expect(problems).toEqual([expect.stringContaining('unknown: unknown key'), `name: ${problem}`]);
  expect(read(listOf(string()), Object.defineProperty(['a', ''], 1, throwing)).problems).toEqual([`[1]: ${problem}`]);
  expect(read(mapOf(string()), Object.defineProperty({}, 'a', throwing)).problems).toEqual([`a: ${problem}`]);
});

test('a hole in a list is an item that is missing', () => {
  // oxlint-disable-next-line no-sparse-arrays
  expect(read(listOf(string()), ['a', , 'b']).problems).toEqual(['[1]: expected a string; got nothing.']);
  expect(read(listOf(json()), Array(2)).problems).toHaveLength(2);
});

test('a list with its own `map`, and keys that are symbols, have no say', () => {
  const list = Object.assign(['a'], { map: () => [7] });
  expect(read(listOf(string()), list)).toEqual({ result: ['a'], problems: [] });
  expect(read(fields, { name: 'a', [Symbol('count')]: 'x' })).toEqual({ result: { name: 'a' }, problems: [] });
});

test.each([1n, Symbol('a'), () => 1, undefined])('%s is no JSON value', (value) => {
  expect(read(object({ any: json() }), { any: value }).problems).toHaveLength(1);
});

test('a value of ten thousand levels is read', () => {
  let deep: unknown = 'x';
  for (let level = 0; level < 10_000; level++) deep = level % 2 === 0 ? [deep] : { a: deep };
  expect(read(fields, { name: 'a', any: deep }).problems).toEqual([]);
  expect(read(fields, { name: deep, count: deep, tags: deep, servers: deep }).problems.length).toBeGreaterThan(1);
});

test('a key that is written twice is refused in JSON, at any depth', () => {
  for (const text of ['{"a":1,"a":1}', '{"b":[{"a":1,"\\u0061":2}]}', '{"__proto__":1,"__proto__":2}'])
    expect(parseStrictJson(text, 64), text).not.toHaveProperty('value');
});

const hostile = fc.letrec((tie) => ({
  leaf: fc.constantFrom<unknown>(
    1n,
    Symbol('s'),
    NaN,
    -0,
    Infinity,
    undefined,
    null,
    'a',
    7,
    () => 1,
    new Date(0),
    /a/u,
  ),
  value: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.sparseArray(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.constantFrom('__proto__', 'constructor', 'name', 'count', 'tags', 'a'), tie('value')), {
        maxLength: 4,
      })
      .map((entries) => Object.fromEntries(entries)),
    tie('value').map((value) => Object.defineProperty({}, 'name', { enumerable: true, get: () => value })),
    fc.constant(
      Object.defineProperty({}, 'name', {
        enumerable: true,
        get: () => {
          throw new Error('no');
        },
      }),
    ),
  ),
})).value;

test('any value is read or reported, never thrown at, and what fits has its shape', () => {
  const shapes: readonly Shape[] = [fields, listOf(fields), mapOf(fields), mapOf(listOf(whole())), listOf(json())];
  fc.assert(
    fc.property(fc.constantFrom(...shapes), hostile, (shape, value) => {
      const { result, problems } = read(shape, value);
      if (problems.length === 0) expect(problemsIn(shape, result)).toEqual([]);
      expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    }),
    { numRuns: testRuns(500) },
  );
});
