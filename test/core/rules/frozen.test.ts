// What was recorded stays readable: what rules, estimates and texts give for fixed inputs does not change within a format.
//
// Nothing that a format in `frozenFormats` uses may change. A newer one may still change until it is listed there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { recordFormats } from '#base';
import { versionsByFormat } from '#core/rules';
import { fixtureDigest, frozenFormats, frozenHashes } from '../../fixtures/frozen.ts';

const folder = new URL('../../fixtures/formats/', import.meta.url);
const recorded = (format: number): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(new URL(`${format}.json`, folder), 'utf8')) as Record<string, string>;
const formats = readdirSync(folder).map((name) => Number.parseInt(name, 10));

const whatToDo = (names: readonly string[], format: number): string => `
Runs of format ${format} depend on: ${names.join(', ')}.
  Not frozen yet: \`npm run fixtures -- --again\`.
  Frozen: undo the change, and add a new version beside the old one.
    a rule            add e.g. goal@2 to src/core/rules/index.ts, name it where the window adds it, and list
                      { 'goal@2': 'goal@1' } under \`earlierRules\` of every earlier format in recorded-versions.ts
    an error text     copy the old text to \`changedSince1\` in src/base/errors/recorded-text.ts
    an estimate       add a function to src/core/rules/hold-estimate.ts, and the number of the version to the new format
    a text of teams   add a table to src/core/tasks/team-texts.ts, and the number of the version to the new format
    a definition      runs that were started with it can no longer be resumed: keep the text, or say so in the changelog
  Then raise \`recordFormats\` in src/base/record-format.ts, and record the new format: \`npm run fixtures\`.`;

test('every format that this build reads has its hashes, and its versions', () => {
  expect(formats.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: recordFormats.newest - recordFormats.oldest + 1 }, (_, index) => recordFormats.oldest + index),
  );
  expect(Object.keys(versionsByFormat).map(Number)).toEqual(formats);
  expect(existsSync(new URL(`../workspaces/format-${recordFormats.newest}/`, folder))).toBe(true);
});

// invariants: estimate-versioned, version-never-changes
test.each(formats)('what runs of format %d use has not changed', (format) => {
  const now = frozenHashes();
  const changed = Object.entries(recorded(format)).flatMap(([name, hash]) => (now[name] === hash ? [] : [name]));
  expect(changed, whatToDo(changed, format)).toEqual([]);
});

// invariant: version-never-changes
test.each(Object.entries(frozenFormats))(
  'the fixtures of the frozen format %s are those that were kept',
  (format, digest) => {
    expect(fixtureDigest(Number(format))).toBe(digest);
  },
);

test('whatever the newest format uses is in its hashes', () => {
  const known = recorded(recordFormats.newest);
  const added = Object.keys(frozenHashes()).filter((name) => !Object.hasOwn(known, name));
  expect(added, `${whatToDo(added, recordFormats.newest)}\nEarlier builds do not know what was added.`).toEqual([]);
});
