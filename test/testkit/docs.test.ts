// The code in docs/TESTKIT.md comes from the example, which is tested.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as testkit from 'cloister/testkit';

const page = readFileSync('docs/TESTKIT.md', 'utf8');
const tests = readdirSync('examples/tested/test').map((file) => readFileSync(`examples/tested/test/${file}`, 'utf8'));

test('all code on the page comes from the example', () => {
  const pieces = [...page.matchAll(/```ts\n([\s\S]*?)```/gu)].map((match) => match[1]!);
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.filter((piece) => !tests.some((text) => text.includes(piece)))).toEqual([]);
});

test('all helpers on the page can be imported', () => {
  const named = [
    ...page.matchAll(
      /`(expect\w+|verify\w+|rehearse|fakeWorld|faulty\w+|virtualClock|listenSlack|fakeSlackApi|connectReceiver)\b/gu,
    ),
  ].map((match) => match[1]!);
  expect(new Set(named).size).toBeGreaterThan(6);
  expect(named.filter((name) => !(name in testkit))).toEqual([]);
});
