// What was held when the process died counts against every cap before any cell goes on.
import { expect, test } from 'vitest';
import type { CellId, Hash, RunId } from '#base';
import type { Amounts, Birth, Frame, FrameRecord } from '#contracts';
import { Account } from '#core/cells';
import { loadAccounts } from '../../../src/core/cells/load-accounts.ts';

const birth = (cell: string, parent: string | null, caps: Amounts): Birth => ({
  cell: cell as CellId,
  parent: parent as CellId | null,
  agent: cell,
  digest: '' as Hash,
  depth: parent === null ? 0 : 1,
  caps,
  deadline: 0,
});

const framesOf = (records: readonly [cell: string, record: FrameRecord][]): readonly Frame[] =>
  records.map(([cell, record], no) => ({ run: 'r' as RunId, no, at: no, cell: cell as CellId, record }));

const begin = (op: number, tokens: number): FrameRecord => ({
  type: 'begin',
  op,
  do: 'step',
  name: 'model:m',
  hold: { tokens },
});
const child = (op: number, cell: string): FrameRecord => ({
  type: 'begin',
  op,
  do: 'child',
  name: `agent:${cell}`,
  birth: birth(cell, 'root', { tokens: 12_000 }),
});

test('two attempts in flight are both uncertain at once, so a third does not fit', () => {
  const frames = framesOf([
    ['root', { type: 'open', birth: birth('root', null, { tokens: 12_000 }) }],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', begin(0, 5_000)],
  ]);
  const { accounts, underWay } = loadAccounts(frames);
  expect([...underWay].sort()).toEqual(['a/0', 'b/0']);
  expect(accounts.get('root' as CellId)!.spent(0).uncertain).toBe(10_000);
  expect(accounts.get('a' as CellId)!.hold({ tokens: 5_000 })).toBe(false);
  expect(accounts.get('b' as CellId)!.hold({ tokens: 2_000 })).toBe(true);
});

test('an attempt that was still waiting for its hold has used nothing', () => {
  const frames = framesOf([
    ['root', { type: 'open', birth: birth('root', null, { tokens: 9_000 }) }],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', begin(0, 4_500)],
  ]);
  const { accounts, underWay } = loadAccounts(frames);
  expect([...underWay]).toEqual(['a/0']);
  expect(accounts.get('root' as CellId)!.spent(0).uncertain).toBe(5_000);
});

test('one that got its hold when another settled was under way', () => {
  const cost = { usage: { inputTokens: 100, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, nanoUsd: null };
  const frames = framesOf([
    ['root', { type: 'open', birth: birth('root', null, { tokens: 9_000 }) }],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', begin(0, 4_500)],
    ['a', { type: 'settle', op: 0, ok: true, value: null, cost }],
  ]);
  const { accounts, underWay } = loadAccounts(frames);
  expect([...underWay]).toEqual(['b/0']);
  expect(accounts.get('root' as CellId)!.spent(0)).toMatchObject({ inputTokens: 100, uncertain: 4_500 });
});

test('a grandchild leaves room for the last answers of all above it', () => {
  const root = new Account(null, { tokens: 100 });
  const middle = new Account(root, { tokens: 100 });
  const leaf = new Account(middle, { tokens: 100 });
  root.floor = { tokens: 20 };
  middle.floor = { tokens: 20 };
  expect(leaf.hold({ tokens: 61 })).toBe(false);
  expect(leaf.hold({ tokens: 60 })).toBe(true);
  expect(middle.hold({ tokens: 20 })).toBe(true);
  expect(root.hold({ tokens: 20 })).toBe(true);
});
