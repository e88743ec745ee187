// docs/API.md and docs/REHEARSAL.md: their code is that of the example, which is compiled and run, and they name every export.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(path, 'utf8');
const [api, rehearsal, testkit, example] = [
  'docs/API.md',
  'docs/REHEARSAL.md',
  'docs/TESTKIT.md',
  'examples/api/main.ts',
].map(read) as [string, string, string, string];

/** The names in the export lists of a file. */
const exportsOf = (path: string): readonly string[] =>
  [...read(path).matchAll(/^export (?:type )?\{([^}]*)\}/gmu)]
    .flatMap(([, names]) => names!.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');

const isNamed = (name: string, ...pages: readonly string[]): boolean =>
  pages.some((page) => new RegExp(`\`[^\`\n]*\\b${name}\\b[^\`\n]*\``, 'u').test(page));

test.each([
  ['docs/API.md', api, 7],
  ['docs/REHEARSAL.md', rehearsal, 2],
])('all code on %s comes from the example', (_, page, least) => {
  const pieces = [...page.matchAll(/```ts\n([\s\S]*?)```/gu)].map((match) => match[1]!);
  expect(pieces.length).toBeGreaterThanOrEqual(least);
  expect(pieces.filter((piece) => !example.includes(piece))).toEqual([]);
});

test('every exported name is on a page', () => {
  const library = exportsOf('src/app/index.ts');
  expect(library.length).toBeGreaterThan(100);
  expect(library.filter((name) => !isNamed(name, api))).toEqual([]);
  const kit = exportsOf('src/app/testkit.ts');
  expect(kit.length).toBeGreaterThan(30);
  expect(kit.filter((name) => !isNamed(name, api, rehearsal, testkit))).toEqual([]);
});
