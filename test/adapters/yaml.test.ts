// YAML is data and nothing else: anything that could do more is refused, with its line.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseYaml } from '#adapters/yaml';

const value = (text: string): unknown => {
  const parsed = parseYaml(text);
  return 'value' in parsed ? parsed.value : parsed;
};

test.each([
  ['a: 1\nb: -2.5\nc: 1e3', { a: 1, b: -2.5, c: 1000 }],
  ['a: 0x1F\nb: 0o17\nc: 017', { a: 31, b: 15, c: 17 }],
  ['a: true\nb: False\nc: yes\nd: off', { a: true, b: false, c: 'yes', d: 'off' }],
  ['a: null\nb: ~\nc:\nd: ""', { a: null, b: null, c: null, d: '' }],
  ['a: 2026-01-02\nb: 12:30:45', { a: '2026-01-02', b: '12:30:45' }],
  ['a: [1, {b: c}]\nd:\n  - e\n  - f: g', { a: [1, { b: 'c' }], d: ['e', { f: 'g' }] }],
  ['a: |\n  one\n  two\nb: >-\n  one\n  two', { a: 'one\ntwo\n', b: 'one two' }],
  ['1: a\ntrue: b\n2.50: c', { 1: 'a', true: 'b', '2.50': 'c' }],
  ['a: 1\r\nb:\r\n  c: 2\r\n', { a: 1, b: { c: 2 } }],
  ['', {}],
  ['# only a comment\n', {}],
  ['---\na: 1\n...\n', { a: 1 }],
])('%j is read by the core schema of YAML 1.2', (text, expected) => expect(value(text)).toEqual(expected));

const nested = (depth: number): string => `a: ${'['.repeat(depth)}${']'.repeat(depth)}`;
const bomb = `a: &a [x,x]\n${'bcdefghij'.replaceAll(/./gu, (key) => `${key}: &${key} [*a,*a,*a,*a,*a]\n`)}`;

const refused: readonly (readonly [string, number, RegExp])[] = [
  ['a: 1\nb: *important', 2, /Aliases/u],
  [bomb, 1, /Anchors/u],
  ['a: 1\n\nb: !important', 3, /Tags/u],
  ['a: !!js/function "x"', 1, /Tags/u],
  ['a: !<constructor> x', 1, /Tags/u],
  ['!!map\na: 1', 1, /Tags/u],
  ['a: 1\nb: &x 2', 2, /Anchors/u],
  ['a: {}\n<<: {b: 1}', 2, /`<<` is not allowed as a key/u],
  ['%YAML 1.1\n---\na: yes', 1, /start with `%`/u],
  ['a: 1\n---\nb: 2', 2, /a single document/u],
  ['a: 1\n...\nb: 2', 3, /a single document/u],
  ['a: 1\nb: 2\na: 3', 3, /Duplicate key `a`/u],
  ['x:\n  "1": a\n  1: b', 3, /Duplicate key `1`/u],
  ['a:\n  __proto__:\n    polluted: 1', 2, /`__proto__` is not allowed as a key/u],
  ['a: 1\n? [x, y]\n: 2', 2, /plain text key before the colon/u],
  ['a: 1\n: 2', 2, /plain text key before the colon/u],
  ['a: 1\nb: .inf', 2, /finite number/u],
  ['a: [.nan]', 1, /finite number/u],
  [nested(70), 1, /64 levels/u],
  [nested(60_000), 1, /64 levels/u],
  ['- '.repeat(60_000), 1, /64 levels/u],
  [`a: ${'x'.repeat(128_000)}`, 1, /Too long/u],
  ['- a\n- b', 1, /keys and values/u],
  ['just text', 1, /keys and values/u],
  ['a: 1\nb: "open', 2, /Not valid YAML/u],
  ['a: 1\n\tb: 2', 2, /Not valid YAML/u],
  ['a: b: c', 1, /Not valid YAML/u],
  ['a: 1\n}', 2, /Not valid YAML/u],
];

// invariants: yaml-plain-only, yaml-linear
test.each(refused.map((one) => [one[0].slice(0, 30), ...one] as const))(
  'a document that begins with %j is refused',
  (_, written, line, message) =>
    expect(parseYaml(written)).toMatchObject({ problem: { line, message: expect.stringMatching(message) } }),
);

test('64 levels of nesting are read', () => expect(parseYaml(nested(63))).toHaveProperty('value'));

// invariant: yaml-no-prototype
test('keys that name parts of a prototype are data', () => {
  const parsed = value('constructor: 1\nprototype: 2\ntoString: {polluted: 3}\nhasOwnProperty: 4') as object;
  expect(Object.keys(parsed)).toEqual(['constructor', 'prototype', 'toString', 'hasOwnProperty']);
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test('a document refused for its tags leaves no trace in the next', () => {
  parseYaml('a: !!set {x}\nb: !<toString> y');
  expect(value('a: {x: null}')).toEqual({ a: { x: null } });
});

const text = '# comment\na: 1\nb:\n  c:\n    - x\n    - d: 1\n      e: 2\n  f: {g: 1,\n    h: 2}\n1: z\n';

test.each([
  [['a'], 2],
  [['b'], 3],
  [['b', 'c'], 4],
  [['b', 'c', 0], 5],
  [['b', 'c', 1, 'e'], 7],
  [['b', 'f', 'h'], 9],
  [['1'], 10],
  [['b', 'c', 9], 4],
  [['b', 'x', 'y'], 3],
  [['nobody'], 2],
  [[], 2],
])('the line of %j is %i', (path, line) => {
  for (const written of [text, text.replaceAll('\n', '\r\n')]) {
    const parsed = parseYaml(written);
    expect('line' in parsed && parsed.line(path)).toBe(line);
  }
});

const json = fc
  .dictionary(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 })
  .map((object) => JSON.parse(JSON.stringify(object)) as object)
  .filter((object) => !JSON.stringify(object).includes('__proto__'));

test('JSON is valid YAML, and reads as itself', () =>
  fc.assert(
    fc.property(json, (object) => {
      expect(value(JSON.stringify(object, null, 1))).toEqual(object);
    }),
  ));

test('what another YAML writer makes of an object reads as that object', () =>
  fc.assert(
    fc.property(json, fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL'), (object, style) => {
      const written = stringify(object, { aliasDuplicateObjects: false, defaultStringType: style });
      // In block style, that writer loses a text of only blanks, and cannot read it back itself.
      fc.pre(style !== 'BLOCK_LITERAL' || !hasBlank(object));
      expect(value(written)).toEqual(object);
    }),
  ));

const hasBlank = (written: unknown): boolean =>
  typeof written === 'string'
    ? /^\s+$/u.test(written)
    : typeof written === 'object' && written !== null && Object.values(written).some(hasBlank);
