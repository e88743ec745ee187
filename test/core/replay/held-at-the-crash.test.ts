// Amounts held when the process died count against every cap before any cell resumes.
import { describe, expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { CellId, Hash, RunId } from '#base';
import type { Amounts, Birth, Frame, FrameRecord } from '#contracts';
import { Account } from '#core/events';
import { loadAccounts } from '../load-accounts.ts';

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
const open = (tokens: number): FrameRecord => ({
  type: 'open',
  recordedBy: { format: recordFormats.newest, build: 'test' },
  birth: birth('root', null, { tokens }),
});
/** An attempt whose hold is not granted when it begins. */
const wait = (op: number, tokens: number): FrameRecord => ({ ...begin(op, tokens), waits: true }) as FrameRecord;
const held = (op: number): FrameRecord => ({ type: 'held', op });
const child = (op: number, cell: string): FrameRecord => ({
  type: 'begin',
  op,
  do: 'child',
  name: `agent:${cell}`,
  birth: birth(cell, 'root', { tokens: 12_000 }),
});

test('two attempts in flight are both uncertain, so a third does not fit', () => {
  const frames = framesOf([
    ['root', open(12_000)],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', begin(0, 5_000)],
  ]);
  const { accounts, inFlight } = loadAccounts(frames);
  expect([...inFlight].sort()).toEqual(['a/0', 'b/0']);
  expect(accounts.get('root' as CellId)!.spent(0).uncertain).toBe(10_000);
  expect(accounts.get('a' as CellId)!.requestHold({ tokens: 5_000 }, () => undefined)).toBe(false);
  expect(accounts.get('b' as CellId)!.requestHold({ tokens: 2_000 }, () => undefined)).toBe(true);
});

test('an attempt that was still waiting for its hold has used nothing', () => {
  const frames = framesOf([
    ['root', open(9_000)],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', wait(0, 4_500)],
  ]);
  const { accounts, inFlight } = loadAccounts(frames);
  expect([...inFlight]).toEqual(['a/0']);
  expect(accounts.get('root' as CellId)!.spent(0).uncertain).toBe(5_000);
});

test('an attempt that got its hold when another settled was in flight', () => {
  const cost = { usage: { inputTokens: 100, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, nanoUsd: null };
  const frames = framesOf([
    ['root', open(9_000)],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', wait(0, 4_500)],
    ['a', { type: 'settle', op: 0, ok: true, value: null, cost }],
    ['b', held(0)],
  ]);
  const { accounts, inFlight } = loadAccounts(frames);
  expect([...inFlight]).toEqual(['b/0']);
  expect(accounts.get('root' as CellId)!.spent(0)).toMatchObject({ inputTokens: 100, uncertain: 4_500 });
});

test('an attempt that is stopped while it waits for its hold does not hide one that runs afterwards', () => {
  const cost = { usage: { inputTokens: 100, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, nanoUsd: 0 };
  const frames = framesOf([
    ['root', open(12_000)],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['root', child(2, 'c')],
    ['a', begin(0, 6_000)],
    ['b', begin(0, 5_000)],
    ['c', wait(0, 4_000)],
    ['c', { type: 'settle', op: 0, ok: false, failure: { code: 'deadline_passed' } }],
    ['b', { type: 'settle', op: 0, ok: true, value: null, cost }],
    ['b', begin(1, 4_500)],
  ]);
  const { accounts, inFlight } = loadAccounts(frames);
  expect([...inFlight].sort()).toEqual(['a/0', 'b/1']);
  expect(accounts.get('root' as CellId)!.spent(0)).toMatchObject({ inputTokens: 100, uncertain: 10_500 });
});

const fork: FrameRecord = {
  type: 'fork',
  from: { run: 'origin' as RunId, frames: 3, hash: '' as Hash, at: 'root', forkedAt: 0 },
  amendment: { agent: 'root' },
};

describe('a run forked at a cut', () => {
  const untilCut: readonly [cell: string, record: FrameRecord][] = [
    ['root', open(9_000)],
    ['root', child(0, 'a')],
    ['root', child(1, 'b')],
    ['a', begin(0, 5_000)],
    ['b', wait(0, 4_500)],
    ['root', fork],
  ];
  const resumed: readonly [string, FrameRecord] = ['root', { type: 'resume', downMs: 0, build: 'test' }];
  const loaded = (...more: readonly (readonly [string, FrameRecord])[]) => {
    const { accounts, inFlight } = loadAccounts(framesOf([...untilCut, ...more] as [string, FrameRecord][]));
    return { inFlight: [...inFlight], uncertain: accounts.get('root' as CellId)!.spent(0).uncertain };
  };

  test('has made none of the calls that were in flight there: they belong to the other run', () => {
    expect(loaded()).toEqual({ inFlight: [], uncertain: 0 });
  });

  test('has made the calls that it repeated, if it crashes itself', () => {
    expect(loaded(resumed)).toEqual({ inFlight: [], uncertain: 0 });
    expect(loaded(resumed, ['a', held(0)])).toEqual({ inFlight: ['a/0'], uncertain: 5_000 });
    const again: FrameRecord = { type: 'again', op: 0, uncertain: { tokens: 5_000 } };
    expect(loaded(resumed, ['a', held(0)], resumed, ['a', again])).toEqual({ inFlight: [], uncertain: 5_000 });
    expect(loaded(resumed, ['a', held(0)], resumed, ['a', again], ['a', held(0)])).toEqual({
      inFlight: ['a/0'],
      uncertain: 10_000,
    });
  });

  test('keeps what had settled by the cut, and after a second fork also what was uncertain', () => {
    const cost = {
      usage: { inputTokens: 70, outputTokens: 30, cacheReadTokens: 0, cacheWriteTokens: 0 },
      nanoUsd: null,
    };
    const settled: FrameRecord = { type: 'settle', op: 0, ok: true, value: null, cost };
    const { accounts, inFlight } = loadAccounts(framesOf([...untilCut.slice(0, -1), ['a', settled], ['root', fork]]));
    expect([...inFlight]).toEqual([]);
    expect(accounts.get('root' as CellId)!.spent(0)).toMatchObject({ inputTokens: 70, outputTokens: 30, uncertain: 0 });
    const doubt: FrameRecord = { type: 'again', op: 0, uncertain: { tokens: 5_000 } };
    expect(loaded(resumed, ['a', doubt], ['root', fork])).toEqual({ inFlight: [], uncertain: 5_000 });
  });
});

// invariant: account-leaves-floor
test('a grandchild leaves enough budget for the last answers of all its ancestors', () => {
  const root = new Account(null, { tokens: 100 });
  const middle = new Account(root, { tokens: 100 });
  const leaf = new Account(middle, { tokens: 100 });
  root.floor = { tokens: 20 };
  middle.floor = { tokens: 20 };
  expect(leaf.requestHold({ tokens: 61 }, () => undefined)).toBe(false);
  expect(leaf.requestHold({ tokens: 60 }, () => undefined)).toBe(true);
  leaf.beginAttempt(0, { tokens: 60 }, false);
  expect(middle.requestHold({ tokens: 20 }, () => undefined)).toBe(true);
  middle.beginAttempt(0, { tokens: 20 }, false);
  expect(root.requestHold({ tokens: 20 }, () => undefined)).toBe(true);
});
