// Where frontmatter ends and prompt begins, whatever surrounds them.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitFile } from '#testing/core/registry';

test.each([
  ['---\na: 1\n---\nHello\n', 'a: 1\n', 2, 'Hello\n'],
  ['\uFEFF---\na: 1\n---\nHello', 'a: 1\n', 2, 'Hello'],
  ['#!/usr/bin/env cloister\n---\na: 1\n---\nHello', 'a: 1\n', 3, 'Hello'],
  ['\uFEFF#!/usr/bin/env -S npx cloister\r\n---\r\na: 1\r\n---\r\nOne\r\nTwo', 'a: 1\r\n', 3, 'One\nTwo'],
  ['#!x\n\n  \n---\na: 1\n---\n', 'a: 1\n', 5, ''],
  ['---\n---\nHello', '', 2, 'Hello'],
  ['---  \na: 1\n---\t\nHello', 'a: 1\n', 2, 'Hello'],
  ['---\na: 1\n---', 'a: 1\n', 2, ''],
  ['---\na: 1\n---\nOne\n---\nTwo\n---\n', 'a: 1\n', 2, 'One\n---\nTwo\n---\n'],
  ['---\na: |\n  ---\n  x\n---\nHello', 'a: |\n  ---\n  x\n', 2, 'Hello'],
  ['---\na: 1\n----\nb: 2\n---\nHello', 'a: 1\n----\nb: 2\n', 2, 'Hello'],
  ['---\na: "\uFFFD"\n---\nHello', 'a: "\uFFFD"\n', 2, 'Hello'],
])('splits %j', (text, frontmatter, frontmatterLine, prompt) =>
  expect(splitFile(text)).toEqual({ frontmatter, frontmatterLine, prompt }),
);

const refused: readonly (readonly [string, number | null, RegExp])[] = [
  ['', 1, /frontmatter is missing/u],
  ['Hello', 1, /frontmatter is missing/u],
  ['\n\nHello\n---\n', 3, /frontmatter is missing/u],
  ['#!/usr/bin/env cloister\nHello', 2, /frontmatter is missing/u],
  ['---js\na\n---\n', 1, /must be `---`/u],
  [`---${' '.repeat(2_000)}x\n---\n`, 1, /must be `---`/u],
  ['---\na: 1\nHello', 1, /is not closed/u],
  ['#!x\n---\na: 1\n --- \n', 2, /is not closed/u],
  ['---\ra: 1\r---\rHello', 1, /must be `---`/u],
  ['---\na: \0\n---\n', null, /not text/u],
  [`---\na: 1\n---\n${'\uFFFD'.repeat(40)}`, null, /not text/u],
  [`---\na: 1\n---\n${'x'.repeat(1_000_000)}`, null, /at most 1 MB/u],
];

test.each(refused.map((one) => [one[0].slice(0, 30), ...one] as const))(
  'rejects a file that begins with %j',
  (_, text, line, message) =>
    expect(splitFile(text)).toEqual({ problem: { line, message: expect.stringMatching(message) } }),
);

test('splitting a file gives back the parts it was joined from', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\0\uFFFD]/gu, ''));
  const yaml = fc.array(line.map((text) => ` ${text}`));
  fc.assert(
    fc.property(
      fc.constantFrom('', '\uFEFF'),
      fc.option(line),
      fc.constantFrom('\n', '\r\n'),
      yaml,
      fc.array(line),
      (bom, shebang, end, keys, prompt) => {
        const first = shebang === null ? [] : [`#!${shebang}`];
        const text = bom + [...first, '---', ...keys, '---', ...prompt].join(end);
        expect(splitFile(text)).toEqual({
          frontmatter: keys.map((key) => key + end).join(''),
          frontmatterLine: first.length + 2,
          prompt: prompt.join('\n'),
        });
      },
    ),
  );
});
