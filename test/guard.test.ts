// Nothing passes itself off as content that crossed. The type checker is asked, once, about core and about examples of forgeries.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findForgeries } from '../tools/guard/forgeries.ts';
import type { Forgery } from '../tools/guard/forgeries.ts';

const root = new URL('..', import.meta.url).pathname.replace(/\/$/u, '');
const { files, forgeries } = findForgeries(root);
const inside = (folder: string) => forgeries.filter(({ file }) => file.startsWith(folder));

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file}`);

test('every file of core was read', () => {
  expect(files.filter((file) => file.startsWith('src/core/')).toSorted()).toEqual(sourcesIn('src/core').toSorted());
  expect(files.length).toBeGreaterThan(200);
});

// invariants: door-only-way-in, ledger-makes-crossed, policy-makes-every-grant, guard-listed-makers
test('core forges nothing, and only the listed files create a door or name its ends', () => {
  expect(inside('src/core/')).toEqual([]);
});

test('outside core nothing names what crossed, or reaches the door', () => {
  const found = sourcesIn('src').filter(
    (file) =>
      !/^src\/(?:core|contracts)\//u.test(file) &&
      /\bCrossed\b|#core\/crossings/u.test(readFileSync(`${root}/${file}`, 'utf8')),
  );
  expect(found).toEqual([]);
});

// invariants: guard-no-forged-type, guard-compiler-not-silenced, guard-listed-makers
test.for<[example: string, rule: string]>([
  ['cast', 'assertion'],
  ['plain-message', 'silenced'],
  ['never', 'assertion'],
  ['parsed', 'any'],
  ['parsed-in-parts', 'any'],
  ['predicate', 'predicate'],
  ['type-argument', 'type argument'],
  ['inferred', 'type argument'],
  ['whole-child', 'assertion'],
  ['other-kind', 'assertion'],
  ['clone', 'copy'],
  ['assigned', 'copy'],
  ['overload', 'overload'],
  ['function-cast', 'assertion'],
  ['class-cast', 'assertion'],
  ['own-door', 'maker new Door'],
  ['inner-file', 'inner file'],
  ['re-exported', 'inner file'],
  ['imported-later', 'inner file'],
  ['parsed-member', 'any'],
  ['optional-example', 'type argument'],
  ['silenced', 'silenced'],
])('the guard catches a forgery: %s', ([example, rule]) => {
  const found: readonly Forgery[] = inside(`tools/guard/forged/${example}.ts`);
  expect(found.map((forgery) => forgery.rule)).toContain(rule);
});

test('every example of a forgery is tried', () => {
  const caught = new Set(inside('tools/guard/forged/').map(({ file }) => file));
  const examples = sourcesIn('tools/guard/forged').filter((file) => !file.endsWith('/accept.ts'));
  expect([...caught].toSorted()).toEqual(examples.toSorted());
});
