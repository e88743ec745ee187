// The list of runs: its words, and how it stays current.
import { expect, test } from 'vitest';
import {
  isFiltered,
  noFilters,
  queryOf,
  roomsText,
  rowStatus,
  startedText,
  tookText,
  totalText,
  withNewest,
  withOlder,
} from '../../web/src/runs/run-list.ts';
import type { ListedRun } from '../../web/src/runs/run-list.ts';
import {
  backWords,
  branchWords,
  checkpointOf,
  checkpointWords,
  conversationLine,
} from '../../web/src/runs/conversation-line.ts';
import { testRandom } from './random.ts';

const spent = (usd: number | null) => ({ usd, ms: 2900, inputTokens: 1, outputTokens: 1 }) as ListedRun['spent'];

const row = (run: string, startedAt: number, more: Partial<ListedRun> = {}): ListedRun => ({
  run: run as ListedRun['run'],
  agent: 'lead',
  goal: 'g',
  state: 'ended',
  status: 'completed',
  startedAt,
  endedAt: startedAt + 1,
  cells: 4,
  spent: spent(0.01),
  ...more,
});

const ids = (rows: readonly ListedRun[]) => rows.map(({ run }) => run).join(' ');

test('the newest page replaces what it covers, and keeps the older rows that were loaded before', () => {
  const known = [row('c', 3), row('b', 2), row('a', 1)];
  expect(ids(withNewest(known, [row('d', 4), row('c', 3)], true))).toBe('d c b a');
  expect(ids(withNewest(known, [row('c', 3), row('a', 1)], true))).toBe('c a');
  expect(ids(withNewest(known, [row('d', 4)], false))).toBe('d');
  expect(ids(withNewest(known, [], true))).toBe('c b a');
  expect(ids(withNewest(known, [row('e', 5), row('d', 4)], true))).toBe('e d c b a');
});

test('however pages arrive, no run is listed twice, and the newest come first', () => {
  for (let seed = 0; seed < 300; seed++) {
    const { below } = testRandom(seed);
    let runs = Array.from({ length: 1 + below(30) }, (_, at) => row(`r${at}`, at)).reverse();
    let known: readonly ListedRun[] = [];
    for (let step = 0; step < 8; step++) {
      const limit = 1 + below(8);
      if (below(2) === 0) {
        runs = [row(`s${seed}-${step}`, 100 + step), ...runs].slice(0, 40);
        known = withNewest(known, runs.slice(0, limit), runs.length > limit);
      } else if (known.length > 0) {
        const from = runs.findIndex(({ run }) => run === known.at(-1)!.run) + 1;
        known = withOlder(known, runs.slice(from, from + limit));
      }
      const names = known.map(({ run }) => run);
      expect(new Set(names).size).toBe(names.length);
      const starts = known.map(({ startedAt }) => startedAt);
      expect(starts).toEqual(starts.toSorted((one, other) => other - one));
    }
  }
});

test('only what is filtered is asked for', () => {
  expect(queryOf(noFilters)).toEqual({});
  expect(queryOf({ text: ' x ', state: 'failed', agent: 'lead', refused: true })).toEqual({
    text: 'x',
    state: 'failed',
    agent: 'lead',
    refused: true,
  });
  expect([isFiltered(noFilters), isFiltered({ ...noFilters, refused: true })]).toEqual([false, true]);
});

test('a run that ended stands as it ended; one that did not, as it is', () => {
  expect(rowStatus(row('a', 1, { status: 'budget' }))).toBe('budget');
  expect(rowStatus(row('a', 1, { state: 'waiting', status: null as never }))).toBe('waiting');
  expect(rowStatus(row('a', 1, { status: null as never }))).toBe('interrupted');
  expect(rowStatus(row('a', 1, { unreadable: 'Read it with 9.0.' }))).toBe('damaged');
});

test('the total says what it covers, and when a price is not known', () => {
  expect(totalText([row('a', 1), row('b', 2)], false)).toBe('2 runs, $0.0200 in all');
  expect(totalText([row('a', 1), row('b', 2, { spent: spent(null) })], false)).toBe('2 runs, at least $0.0100 in all');
  expect(totalText([row('a', 1, { spent: null })], true)).toBe('newest 1 run, $0.0000');
});

test('times are those of today, or have their day', () => {
  const now = new Date(2026, 10, 18, 12, 0, 0).getTime();
  expect(startedText(new Date(2026, 10, 18, 6, 41, 18).getTime(), now)).toBe('06:41:18');
  expect(startedText(new Date(2026, 10, 17, 6, 41, 18).getTime(), now)).toBe('17 Nov 06:41');
  expect(startedText(new Date(2024, 0, 2).getTime(), now)).toBe('2 Jan 2024');
  expect(startedText(0, now)).toBe('');
});

test('a run in progress has taken the time until now; one that waits says nothing', () => {
  const open = { spent: null, endedAt: null };
  expect(tookText(row('a', 1), 0)).toBe('2.9 s');
  expect(tookText(row('a', 1000, { ...open, state: 'running' }), 3000)).toBe('2.0 s');
  expect(tookText(row('a', 1000, { ...open, state: 'waiting' }), 3000)).toBe('');
});

test('columns that an older server does not send are left out', () => {
  expect(roomsText(row('a', 1))).toBe('4 rooms');
  expect(roomsText(row('a', 1, { cells: 1, crossings: 2 }))).toBe('1 room, 2 crossings');
});

const turn = (run: string, startedAt: number, endedAt: number | null) => ({
  run,
  goal: `goal ${run}`,
  output: endedAt === null ? '' : 'answer',
  status: endedAt === null ? null : 'completed',
  startedAt,
  endedAt,
  spent: null,
});

const checkpoint = (id: string, run: string, at: number) => ({ id, run, at, why: 'autosave' as const, label: '' });

test('a conversation is a line of its messages, with each checkpoint after the answer that it keeps', () => {
  const line = conversationLine({
    agent: 'lead',
    name: 'databases',
    turns: [turn('r1', 10, 20), turn('r2', 30, 40), turn('r3', 50, null)],
    checkpoints: [checkpoint('c2', 'r2', 40), checkpoint('c1', 'r1', 21)],
  });
  expect(
    line.map((entry) => (entry.kind === 'checkpoint' ? entry.checkpoint.id : `${entry.kind} ${entry.turn.run}`)),
  ).toEqual(['person r1', 'agent r1', 'c1', 'person r2', 'agent r2', 'c2', 'person r3']);
  expect(line.flatMap((entry) => (entry.kind === 'checkpoint' ? [entry.turnsAfter] : []))).toEqual([2, 1]);
  expect(checkpointOf(line, 'r1')?.id).toBe('c1');
  expect(checkpointOf(line, 'r3')?.id).toBe('c2');
  expect(checkpointOf([], 'r1')).toBeUndefined();
});

test('a checkpoint says why it exists, and going back says what it takes away', () => {
  expect(checkpointWords(checkpoint('c', 'r', 1))).toBe('kept after the turn');
  expect(checkpointWords({ ...checkpoint('c', 'r', 1), why: 'asked' })).toBe('taken by you');
  expect(checkpointWords({ ...checkpoint('c', 'r', 1), label: 'before the move' })).toBe('before the move');
  const talk = {
    agent: 'lead',
    name: 'x',
    turns: [],
    checkpoints: [checkpoint('c', 'r', new Date(2026, 1, 1, 6, 41, 10).getTime())],
  };
  expect(branchWords({ agent: 'lead', name: 'y', checkpoint: 'c' }, talk)).toBe(
    'branch from the checkpoint of 06:41:10',
  );
  expect(branchWords({ agent: 'lead', name: 'y', checkpoint: 'gone' }, talk)).toBe('branch');
  expect(backWords(0)).toContain('stays as it is');
  expect(backWords(1)).toBe('The turn after it leaves the conversation. Its run is kept.');
  expect(backWords(3)).toBe('The 3 turns after it leave the conversation. Their runs are kept.');
});
