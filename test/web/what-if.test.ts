// What differs between two runs, in words.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellSide, RunDiff } from '#contracts';
import { diffWords } from '../../web/src/what-if/diff-words.ts';
import { forkBody } from '../../web/src/what-if/fork-body.ts';
import { changedRows, changedSentence, forkCommand } from '../../web/src/what-if/what-changed.ts';

const words = fc
  .array(fc.constantFrom('SQLite', 'DuckDB', ' ', '\n', '. ', 'keeps', 'rows', 'ü', '😀'), { maxLength: 40 })
  .map((all) => all.join(''));

test('both sides of a comparison are the two texts, and what is not marked is the same in both', () => {
  fc.assert(
    fc.property(words, words, (one, other) => {
      const [left, right] = diffWords(one, other);
      const whole = (pieces: typeof left) => pieces.map(({ text }) => text).join('');
      const same = (pieces: typeof left) => whole(pieces.filter(({ changed }) => !changed));
      expect(whole(left)).toBe(one);
      expect(whole(right)).toBe(other);
      expect(same(left)).toBe(same(right));
      if (one === other) expect(left.some(({ changed }) => changed)).toBe(false);
    }),
  );
});

test('one word that is another is one mark on each side', () => {
  const [left, right] = diffWords('keeps rows together', 'keeps columns together');
  expect(left.filter(({ changed }) => changed)).toEqual([{ text: 'rows', changed: true }]);
  expect(right.filter(({ changed }) => changed)).toEqual([{ text: 'columns', changed: true }]);
});

const side = (more: Partial<CellSide>): CellSide => ({
  cell: 'c' as never,
  status: 'completed',
  output: 'yes',
  spent: { inputTokens: 10, outputTokens: 5, usd: 0.0001 } as never,
  models: ['m'],
  crossings: ['goal from lead', 'result to lead'],
  ...more,
});

const diff = (cells: RunDiff['cells']): RunDiff => ({
  one: 'a' as never,
  other: 'b' as never,
  fork: null,
  sameFrames: 5,
  same: false,
  cells,
});

test('a result that was refused is told as such, and rooms that are the same come last', () => {
  const refused = side({ crossings: ['goal from lead', 'result to lead refused: no-grant'] });
  const given = diff([
    { place: 'lead › operator #1', one: side({}), other: side({}), same: true, parts: null },
    { place: 'lead › engineer #1', one: side({}), other: refused, same: false, parts: null },
    { place: 'lead › analyst #2', one: side({}), other: null, same: false, parts: null },
  ]);
  expect(changedRows(given).map(({ room, what, one, other }) => [room, what, one, other])).toEqual([
    ['engineer', 'result to lead', 'crossed', 'refused: no grant'],
    ['analyst #2', 'only here', 'completed, 10 in, 5 out, $0.0001', ''],
    ['operator', 'all', 'the same, byte for byte', ''],
  ]);
  expect(changedSentence(given)).toBe('2 of 3 rooms differ, 5 records in common');
});

test('rooms that differ in nothing but an operation say which', () => {
  const parts = { op: 3, one: 'waits 1 ms', other: 'waits 2 ms' };
  const [row] = changedRows(diff([{ place: 'lead', one: side({}), other: side({}), same: false, parts }]));
  expect(row).toMatchObject({ what: 'operation 3', one: 'waits 1 ms', other: 'waits 2 ms' });
});

test('the rooms of the agent that was changed come first, with the size of what crossed', () => {
  const refused = side({ crossings: ['goal from lead', 'result to lead refused: no-grant'] });
  const cells = [
    { place: 'lead', one: side({}), other: side({ output: 'no' }), same: false, parts: null },
    { place: 'lead › engineer #2', one: side({}), other: refused, same: false, parts: null },
  ];
  const fork = {
    run: 'b' as never,
    from: {} as never,
    amendment: { agent: 'engineer', withoutGrants: ['result'] as const },
  };
  const rows = changedRows(
    { ...diff(cells), fork },
    {
      granted: () => '365 B, grant result',
      goal: (where) => (where === 'one' ? 'Why?' : 'How?'),
    },
  );
  expect(rows.map(({ room, one }) => [room, one])).toEqual([
    ['engineer #2', 'Why?'],
    ['engineer #2', '365 B, grant result'],
    ['lead', 'Why?'],
    ['lead', 'yes'],
  ]);
});

test('a fork asks for one change at a place, and for nothing while something is missing', () => {
  const at = { cell: 'lead-1', op: 3, goal: 'Why?' };
  expect(forkBody({ ...at, kind: 'grant', value: { grant: 'result' } })).toEqual({
    at: 'lead-1/3',
    withoutGrants: ['result'],
  });
  expect(forkBody({ ...at, kind: 'goal', value: { goal: 'How?' } })).toEqual({ at: 'lead-1', goal: 'How?' });
  expect(forkBody({ ...at, kind: 'goal', value: { goal: ' Why? ' } })).toBeNull();
  expect(forkBody({ ...at, kind: 'model', value: { model: 'small' } })).toBeNull();
  expect(forkBody({ ...at, kind: 'budget', value: { tokens: '1.5' } })).toBeNull();
  expect(forkBody({ ...at, kind: 'budget', value: { tokens: '', usd: '0.1' } })).toEqual({
    at: 'lead-1',
    budget: { usd: 0.1 },
  });
  expect(forkBody({ ...at, op: undefined, kind: 'again', value: {} })).toEqual({ at: 'lead-1' });
});

test('the command can be pasted into a shell, whatever the goal is', () => {
  expect(forkCommand('d1af', { at: 'engineer-1/3', withoutGrants: ['result'] })).toBe(
    'cloister fork d1af --at engineer-1/3 --without-grant result',
  );
  expect(forkCommand('d1af', { at: 'lead-1', goal: "it's $(rm)" })).toBe(
    String.raw`cloister fork d1af --at lead-1 --goal 'it'\''s $(rm)'`,
  );
});
