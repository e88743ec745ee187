// Changing any single character of the log is detected; the fields that may change undetected are listed here, with the reason.
import { assert, asyncProperty, constantFrom, nat } from 'fast-check';
import { expect, test } from 'vitest';
import { auditRun } from '#core/audit';
import type { Frame } from '#contracts';
import { testRuns } from '../../test-seed.ts';
import { goodRun } from './frames.ts';

type Leaf = { readonly path: string; readonly keys: readonly (string | number)[]; readonly value: string | number };

const unseen: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /^\d+\.at$|\.until$|\.deadline$|\.spent\.ms$|\.record\.ms$/u, why: 'a time; nothing is made of it' },
  { path: /\.about\./u, why: 'for people' },
  { path: /\.birth\.agent$/u, why: 'a name for people; what the agent is, its digest says' },
  { path: /\.recordedBy\.build$/u, why: 'a name for people; how to read the run, its format says' },
  { path: /\.caps\.|\.uncertain\.nanoUsd$/u, why: 'a bound: found when what was used passes it' },
  { path: /\.value\.finish$/u, why: 'a word of the provider that no prompt shows' },
  { path: /\.failure\.detail$/u, why: 'the world’s words about an attempt; no prompt shows them' },
];

const leavesOf = (value: unknown, keys: readonly (string | number)[] = []): readonly Leaf[] => {
  if (typeof value === 'string' || typeof value === 'number') return [{ path: keys.join('.'), keys, value }];
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap((one, index) => leavesOf(one, [...keys, index]));
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one, [...keys, key]));
};

const changedCharacter = (value: string | number, at: number): string | number => {
  const text = String(value);
  if (typeof value === 'string')
    return text === '' ? 'x' : `${text.slice(0, at)}${text[at] === 'x' ? 'y' : 'x'}${text.slice(at + 1)}`;
  const digit = /\d/u.test(text[at] ?? '') ? at : text.length - 1;
  return Number(`${text.slice(0, digit)}${(Number(text[digit]) + 1) % 10}${text.slice(digit + 1)}`);
};

const changedFrames = (frames: readonly Frame[], { keys, value }: Leaf, at: number): readonly Frame[] => {
  const copy = JSON.parse(JSON.stringify(frames)) as Record<string | number, never>;
  const last = keys.at(-1)!;
  const holder = keys.slice(0, -1).reduce<Record<string | number, unknown>>((one, key) => one[key] as never, copy);
  holder[last] = changedCharacter(value, at);
  return copy as unknown as readonly Frame[];
};

const { frames, blob } = goodRun();
const leaves = leavesOf(frames).filter(({ path }) => !unseen.some((one) => one.path.test(path)));
const isFound = async (leaf: Leaf, at: number): Promise<boolean> => {
  const { ok, problems } = await auditRun(changedFrames(frames, leaf, at), { readBlob: blob, damaged: [] });
  return !ok && problems.every(({ code, where }) => code !== '' && /frame \d+|cell /u.test(where));
};

test('changing the first, a middle or the last character of any field is detected', async () => {
  const missed = new Set<string>();
  for (const leaf of leaves) {
    const length = String(leaf.value).length;
    for (const at of new Set([0, length >> 1, Math.max(0, length - 1)]))
      if (!(await isFound(leaf, at))) missed.add(leaf.path);
  }
  expect([...missed]).toEqual([]);
  expect(leaves.length).toBeGreaterThan(400);
});

test('changing any single character is detected', () =>
  assert(
    asyncProperty(constantFrom(...leaves), nat(), async (leaf, at) => {
      expect(await isFound(leaf, at % Math.max(1, String(leaf.value).length))).toBe(true);
    }),
    { numRuns: testRuns(400) },
  ));

test('each kind of field that may change undetected occurs in the run', () => {
  const paths = leavesOf(frames).map(({ path }) => path);
  for (const { path } of unseen) expect(paths.some((one) => path.test(one))).toBe(true);
});
