// What was held when the process died counts against every cap before any cell goes on.
import { describe, expect, test } from 'vitest';
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

const fork: FrameRecord = {
  type: 'fork',
  from: { run: 'origin' as RunId, frames: 3, hash: '' as Hash, at: 'root', forkedAt: 0 },
  amendment: { agent: 'root' },
};

describe('a run that goes on from a cut', () => {
  const toTheCut: readonly [cell: string, record: FrameRecord][] = [
    ['root', { type: 'open', birth: birth('root', null, { tokens: 9_000 }) }],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', begin(0, 4_500)],
    ['root', fork],
  ];
  const resumed: readonly [string, FrameRecord] = ['root', { type: 'resume', downMs: 0 }];
  const loaded = (...more: readonly (readonly [string, FrameRecord])[]) => {
    const { accounts, underWay } = loadAccounts(framesOf([...toTheCut, ...more] as [string, FrameRecord][]));
    return { underWay: [...underWay], uncertain: accounts.get('root' as CellId)!.spent(0).uncertain };
  };

  test('has made none of the calls that were under way there: they are the other run’s', () => {
    expect(loaded()).toEqual({ underWay: [], uncertain: 0 });
  });

  test('has made those that it asked for again, when it dies itself', () => {
    expect(loaded(resumed)).toEqual({ underWay: ['a/0'], uncertain: 5_000 });
    const again: FrameRecord = { type: 'again', op: 0, uncertain: { tokens: 5_000 } };
    expect(loaded(resumed, resumed, ['a', again])).toEqual({ underWay: [], uncertain: 5_000 });
  });

  test('keeps what had settled by then, and cut once more, what was in doubt', () => {
    const cost = {
      usage: { inputTokens: 70, outputTokens: 30, cacheReadTokens: 0, cacheWriteTokens: 0 },
      nanoUsd: null,
    };
    const settled: FrameRecord = { type: 'settle', op: 0, ok: true, value: null, cost };
    const { accounts, underWay } = loadAccounts(framesOf([...toTheCut.slice(0, -1), ['a', settled], ['root', fork]]));
    expect([...underWay]).toEqual([]);
    expect(accounts.get('root' as CellId)!.spent(0)).toMatchObject({ inputTokens: 70, outputTokens: 30, uncertain: 0 });
    const doubt: FrameRecord = { type: 'again', op: 0, uncertain: { tokens: 5_000 } };
    expect(loaded(resumed, ['a', doubt], ['root', fork])).toEqual({ underWay: [], uncertain: 5_000 });
  });
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
