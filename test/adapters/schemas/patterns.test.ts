// Patterns run on another engine than the one their syntax is from: same verdict, or refused.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compilePattern, readPattern } from '../../../src/adapters/schemas/pattern.ts';

const atoms =
  String.raw`a b é 😀 - \. \/ \$ . ^ $ \b \d \D \w \W \s \S \t \0 \cJ \x41 \u0061 \u{1F600} \ud83d\ude00 \ud83d \p{L} \P{Lu} \p{Letter} \p{Script=Greek} [a-c] [^a] [\d_] [^\S\n] [] [^] [\b] [a\-z] [\]\\] [😀-😂] [\p{Lu}\p{Nd}-]`.split(
    ' ',
  );
const quantifiers = ['*', '+', '?', '*?', '+?', '{2}', '{0,3}', '{02,}', '{0}'];
const pattern = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'pattern' },
    fc.constantFrom(...atoms),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `${one}${other}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(${one}|${other})`),
    tie('pattern').map((one) => (one.includes('?<') ? `(?:${one})` : `(?<name>${one})`)),
    fc.tuple(tie('pattern'), fc.constantFrom(...quantifiers)).map(([one, times]) => `(?:${one})${times}`),
    fc
      .tuple(fc.constantFrom('a', '.', '[^a]', '\\w'), fc.constantFrom('{1,2}', '{3}', '{2,}'))
      .map(([one, times]) => `^${one}${times}$`),
  ),
})).pattern;
const chars = ['a', 'b', 'A', '1', '_', '-', '.', '/', '\\', ']', '$', ' ', '\n', '\r', '\0', '\b', 'é', 'λ', '😀'];
const text = fc
  .array(fc.constantFrom(...chars, '\u2028', '\ufeff', '\u00a0', '\ud83d', '\ude00'), { maxLength: 8 })
  .map((some) => some.join(''));

// invariant: pattern-same-matches
test('a pattern matches the same texts as in JavaScript', () => {
  let matched = 0;
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 4, maxLength: 4 }), (source, texts) => {
      if (!isValid(source)) return;
      const compiled = compilePattern(readPattern(source));
      if ('refused' in compiled) throw new Error(`${source} ${compiled.refused}`);
      for (const one of [...texts, '']) {
        const expected = new RegExp(source, 'u').test(one);
        if (expected) matched++;
        expect(compiled.matches(one), `${JSON.stringify(source)} on ${JSON.stringify(one)}`).toBe(expected);
      }
    }),
    { numRuns: 1_000 },
  );
  expect(matched).toBeGreaterThan(500);
});

const isValid = (source: string): boolean => {
  try {
    return new RegExp(source, 'u').source !== '';
  } catch {
    return false;
  }
};

// invariant: pattern-never-approximated
test.each([
  ['a(?=b)', 'uses a look-ahead "(?="'],
  ['a(?!b)', 'uses a look-ahead "(?!"'],
  ['(?<=a)b', 'uses a look-behind "(?<="'],
  ['(?<!a)b', 'uses a look-behind "(?<!"'],
  ['(a)\\1', 'uses a back-reference "\\1"'],
  ['(?<n>a)\\k<n>', 'uses a back-reference "\\k"'],
  ['(?i:a)', 'uses a modifier "(?i"'],
  ['\\p{scx=Greek}', 'uses the property "scx=Greek"'],
  ['a{1001}b', 'repeats a part more than 1000 times'],
  ['(?:a{100}){100}', 'is too large: its length, with repetitions written out, is limited to 4000'],
  ['a'.repeat(4_001), 'is too large: its length, with repetitions written out, is limited to 4000'],
])('%s is refused', (source, refused) => {
  expect(isValid(source)).toBe(true);
  expect(compilePattern(readPattern(source))).toEqual({ refused });
});

test('every general category, and a script by its long name, is known', () => {
  const names =
    'L Lu Ll Lt LC Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn';
  const long =
    'Letter Uppercase_Letter Mark Number Decimal_Number Punctuation Symbol Separator Other gc=Lu Script=Han sc=Latin';
  for (const name of [...names.split(' '), ...long.split(' '), 'Any', 'ASCII', 'Alphabetic', 'Emoji']) {
    const compiled = compilePattern(readPattern(`^\\p{${name}}$`));
    if ('refused' in compiled) throw new Error(`${name} ${compiled.refused}`);
    for (const char of 'aA1 _-$+é漢λ😀\u0301\n')
      expect([name, char, compiled.matches(char)]).toEqual([name, char, new RegExp(`^\\p{${name}}$`, 'u').test(char)]);
  }
});
