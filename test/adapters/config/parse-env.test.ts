import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseEnv } from '#testing/adapters/config';

const valuesOf = (text: string): [string, string][] => Object.entries(parseEnv(text).values);

const keys = fc.oneof(
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/u),
  fc.constantFrom('__proto__', 'constructor', 'export', 'toString'),
);
const blanks = fc.constantFrom('', '', ' ', '\t', '  ');

/** A line, or a quoted value over several lines, and its meaning. */
type Piece = { readonly text: string; readonly entry?: readonly [string, string] };

const quotable = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019 \t#=\'"\\$`{}-_\n\rnrté🔑'), maxLength: 20 })
  .filter((value) => !value.includes('\r'));
const doubleQuoted = quotable.map((value) => ({
  value,
  written: `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`,
}));
const escaped = quotable.map((value) => ({
  value,
  written: `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('$', '\\$')}"`,
}));
const singleQuoted = quotable
  .filter((value) => !value.includes("'"))
  .map((value) => ({ value, written: `'${value}'` }));
const bare = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019#=\'"\\$`{}-_é🔑'), maxLength: 20 })
  .filter((value) => !/^['"#]/u.test(value))
  .map((value) => ({ value, written: value }));

const assignment: fc.Arbitrary<Piece> = fc
  .record({
    key: keys,
    value: fc.oneof(doubleQuoted, escaped, singleQuoted, bare),
    exported: fc.constantFrom('', 'export ', 'export\t '),
    space: fc.tuple(blanks, blanks, blanks, blanks),
    comment: fc.constantFrom('', ' # a comment', '\t#'),
  })
  .map(({ key, value, exported, space, comment }) => ({
    text: `${space[0]}${exported}${key}${space[1]}=${space[2]}${value.written}${space[3]}${comment}`,
    entry: [key, value.value] as const,
  }));
const other: fc.Arbitrary<Piece> = fc.constantFrom(
  ...['', '  ', '# a comment', '\t# KEY=VALUE', '#'].map((text) => ({ text })),
);
const files = fc.record({
  bom: fc.constantFrom('', '\uFEFF'),
  end: fc.constantFrom('\n', '\r\n'),
  pieces: fc.array(fc.oneof({ weight: 3, arbitrary: assignment }, other), { maxLength: 8 }),
  last: fc.boolean(),
});

test('a well-formed file is read as a person would read it, with any line endings', () => {
  fc.assert(
    fc.property(files, ({ bom, end, pieces, last }) => {
      const lines = pieces.map(({ text }) => text).join('\n') + (last ? '\n' : '');
      const { values, problems } = parseEnv(bom + lines.replaceAll('\n', end));
      expect(problems).toEqual([]);
      expect(new Map(Object.entries(values))).toEqual(
        new Map(pieces.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))),
      );
      expect(Object.getPrototypeOf(values)).toBeNull();
    }),
    { numRuns: 4000 },
  );
});

const fragments = fc.constantFrom(
  'A',
  '=',
  '"',
  "'",
  '\\',
  '\n',
  '\r',
  '#',
  ' ',
  'export ',
  '__proto__=',
  '\0',
  '${X}',
  '\uFEFF',
  '🔑',
);
const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fragments, { maxLength: 40 }).map((parts) => parts.join('')),
);

// invariant: env-problem-shows-no-line
test('no text makes the parser throw, change a prototype, or miscount lines', () => {
  const before = Reflect.ownKeys(Object.prototype);
  fc.assert(
    fc.property(anything, (text) => {
      const { values, problems } = parseEnv(text);
      const lines = text.replaceAll(/\r\n?/gu, '\n').split('\n').length;
      for (const { line } of problems) expect(line >= 1 && line <= lines).toBe(true);
      for (const [key, value] of Object.entries(values)) {
        expect(key).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/u);
        expect(typeof value).toBe('string');
      }
    }),
    { numRuns: 4000 },
  );
  expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
});

// invariant: env-problem-shows-no-line
test('a problem names its line and quotes nothing from it', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{3} [0-9A-Z]{12}$/u), fc.nat(5), (secret, above) => {
      const { problems } = parseEnv(`${'# a comment\n'.repeat(above)}${secret}\nGOOD=1`);
      expect(problems.map(({ line }) => line)).toEqual([above + 1]);
      expect(JSON.stringify(problems)).not.toContain(secret.slice(4));
    }),
    { numRuns: 1000 },
  );
});

// invariant: env-linear
test('each line of a long file is read once', () => {
  const lines = ['A="x" y', "B='z'", 'no assignment', 'C=$A # a comment'];
  const { problems } = parseEnv(`${lines.join('\n')}\n`.repeat(50_000));
  expect([problems.length, problems.at(-1)!.line]).toEqual([100_000, 199_999]);
});

const cases: readonly (readonly [string, string, [string, string][]])[] = [
  [
    'a # belongs to a value unless a space is before it',
    'A=x#y\nB=x #y\nC=#y\nD= #y',
    [
      ['A', 'x#y'],
      ['B', 'x'],
      ['C', '#y'],
      ['D', ''],
    ],
  ],
  ['double quotes allow escapes', String.raw`A="x\n\"y\"\\\$\q"`, [['A', 'x\n"y"\\$\\q']]],
  ['single quotes allow none', String.raw`A='x\n"y"'`, [['A', String.raw`x\n"y"`]]],
  [
    'a quoted value may have several lines',
    'A="x\r\ny"\r\nB=1',
    [
      ['A', 'x\ny'],
      ['B', '1'],
    ],
  ],
  [
    'nothing is substituted',
    'A=1\nB=${A}$A',
    [
      ['A', '1'],
      ['B', '${A}$A'],
    ],
  ],
  ['the last of two wins', 'A=1\nA=2', [['A', '2']]],
  [
    'an empty value is a value',
    'A=\nB=""',
    [
      ['A', ''],
      ['B', ''],
    ],
  ],
];

// invariant: env-expands-nothing
test.each(cases)('%s', (_name, text, expected) => {
  expect(valuesOf(text)).toEqual(expected);
  expect(parseEnv(text).problems).toEqual([]);
});

test.each([
  ['no equals sign', 'A=1\nhello\nB=2', [2], ['A', 'B']],
  ['an invalid variable name', 'MY-KEY=1\n1A=2\nA.B=3', [1, 2, 3], []],
  ['an unclosed quote', 'A=1\nB="x\nC=2', [2], ['A']],
  ['text after the closing quote', 'A="x"y\nB=2', [1], ['B']],
  ['a line after a multi-line value', 'A="x\ny\nz"\nnonsense', [4], ['A']],
  ['a NUL character', 'A=x\0y\nB=2', [1], ['B']],
])('refused, with the line: %s', (_name, text, lines, kept) => {
  expect(parseEnv(text).problems.map(({ line }) => line)).toEqual(lines);
  expect(valuesOf(text).map(([key]) => key)).toEqual(kept);
});

test('quotes that are not taken as such are a warning, which names the key and never the value', () => {
  const { values, warnings, problems } = parseEnv(
    'A=`one`\nB="two"\n\nC=\u201cthree\u201d # why\nD=a`b`\nE=\'`x`\'x\n',
  );
  expect(values).toEqual({ A: '`one`', B: 'two', C: '\u201cthree\u201d', D: 'a`b`' });
  expect(problems).toHaveLength(1);
  expect(warnings).toEqual([
    { line: 1, message: 'A: these quotes are part of the value; quotes are " and \'.' },
    { line: 4, message: 'C: these quotes are part of the value; quotes are " and \'.' },
  ]);
});
