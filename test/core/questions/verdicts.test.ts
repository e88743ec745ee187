// What rulings decide, and what is kept of questions.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CellId, Hash, RunId } from '#base';
import type { Frame, FrameRecord, Ruling } from '#contracts';
import { argumentsHash, Questions, verdictOf } from '#core/events';

const args = { q: 'shown' };
const argsHash = argumentsHash(args);
const cell = 'lead-aaaaaaaaaaaa' as CellId;

const rulings = fc.array(
  fc.record({
    by: fc.constantFrom('ann', 'ben', 'cat', 'dan'),
    verdict: fc.constantFrom('allow' as const, 'allow' as const, 'allow' as const, 'deny' as const),
    args: fc.constantFrom(undefined, args, { q: 'other' }, { q: 'third' }),
  }),
  { maxLength: 8 },
);

/** By the words of the rule: one person who denies is enough; otherwise so many different people must allow the same arguments. */
const decideSimply = (
  all: readonly Pick<Ruling, 'by' | 'verdict' | 'args'>[],
  need: number,
): 'allow' | 'deny' | null => {
  for (const { verdict } of all) if (verdict === 'deny') return 'deny';
  const texts = [...new Set(all.map((one) => JSON.stringify(one.args ?? args)))];
  const peopleFor = (text: string): number =>
    new Set(all.filter((one) => JSON.stringify(one.args ?? args) === text).map(({ by }) => by)).size;
  return texts.some((text) => peopleFor(text) >= need) ? 'allow' : null;
};

test('a verdict needs so many different people who allow the same arguments, and one who denies is enough', () =>
  fc.assert(
    fc.property(rulings, fc.integer({ min: 1, max: 4 }), (all, need) => {
      const given = all.map(({ args: changed, ...one }) => ({ ...one, ...(changed && { args: changed }) }));
      expect(verdictOf({ argsHash, rule: { need } }, given)).toBe(decideSimply(given, need));
      if (need === 1) expect(verdictOf({ argsHash }, given)).toBe(decideSimply(given, 1));
    }),
  ));

test.each([
  ['the same person twice', [{ by: 'ann' }, { by: 'ann' }], null],
  ['two people', [{ by: 'ann' }, { by: 'ben' }], 'allow'],
  [
    'two people with different arguments',
    [
      { by: 'ann', args: { q: 'x' } },
      { by: 'ben', args: { q: 'y' } },
    ],
    null,
  ],
  [
    'two people with the same changed arguments',
    [
      { by: 'ann', args: { q: 'x' } },
      { by: 'ben', args: { q: 'x' } },
    ],
    'allow',
  ],
  ['arguments written out that are those shown', [{ by: 'ann', args }, { by: 'ben' }], 'allow'],
  ['two who allow and one who denies', [{ by: 'ann' }, { by: 'ben' }, { by: 'cat', verdict: 'deny' }], 'deny'],
] as const)('of two people needed: %s', (_, given, verdict) => {
  const all = given.map((one) => ({ verdict: 'allow' as const, ...one }));
  expect(verdictOf({ argsHash, rule: { need: 2 } }, all)).toBe(verdict);
});

const frameOf = (no: number, record: FrameRecord, at: CellId = cell): Frame => ({
  run: 'a1b2c3d4e5f6' as RunId,
  no,
  at: no,
  cell: at,
  record,
});
const ask = (op: number, given = args, tool = 'send'): FrameRecord => ({
  type: 'begin',
  op,
  do: 'ask',
  name: `ask:${tool}`,
  until: 1_000,
  question: { tool, args: given, argsHash: argumentsHash(given), why: 'tool' },
});
const ruling = (op: number, more: Partial<Ruling> = {}): FrameRecord => ({
  type: 'ruling',
  op,
  by: 'ann',
  right: 'operator',
  verdict: 'allow',
  argsHash,
  signal: `s-${op}`,
  ...more,
});
const settle = (op: number, verdict: 'allow' | 'deny'): FrameRecord => ({
  type: 'settle',
  op,
  ok: true,
  value: { verdict },
});

const folded = (digests: Readonly<Record<string, string>>, ...records: readonly (FrameRecord | Frame)[]) => {
  const questions = new Questions((one) => (digests[one] ?? 'digest') as Hash);
  records.forEach((one, no) => questions.next('record' in one ? one : frameOf(no, one)));
  return questions;
};

test('a ruling that was remembered covers the same tool and arguments in cells of the same definition, and nothing else', () => {
  const twin = 'lead-bbbbbbbbbbbb' as CellId;
  const other = 'other-cccccccccccc' as CellId;
  const before = [ask(1), ruling(1, { remember: 'run' }), settle(1, 'allow')];
  const digests = { [cell]: 'same', [twin]: 'same', [other]: 'another' };
  const cases: readonly (readonly [CellId, FrameRecord, number | undefined])[] = [
    [cell, ask(2), 1],
    [twin, ask(2), 1],
    [other, ask(2), undefined],
    [cell, ask(2, { q: 'else' }), undefined],
    [cell, ask(2, args, 'post'), undefined],
  ];
  for (const [where, asked, expected] of cases) {
    const questions = folded(digests, ...before, frameOf(9, asked, where));
    expect(questions.rememberedFor(questions.of(where, 2)!)).toBe(expected);
  }
});

test.each([
  ['was not settled yet', [ask(1), ruling(1, { remember: 'run' })]],
  [
    'was denied by another',
    [ask(1), ruling(1, { remember: 'run' }), ruling(1, { by: 'ben', verdict: 'deny' }), settle(1, 'deny')],
  ],
  ['was not to be remembered', [ask(1), ruling(1), settle(1, 'allow')]],
])('an answer covers nothing if its question %s', (_, records) => {
  const questions = folded({}, ...records, frameOf(9, ask(2)));
  expect(questions.rememberedFor(questions.of(cell, 2)!)).toBe(undefined);
});

test('a question that has ended takes no more rulings, and is kept only for a list', () => {
  const records = [ask(1), ruling(1), settle(1, 'allow'), ruling(1, { by: 'ben' })];
  expect(folded({}, ...records).all).toEqual([]);
  const kept = new Questions(() => 'digest' as Hash, true);
  records.forEach((record, no) => kept.next(frameOf(no, record)));
  expect(kept.all).toMatchObject([{ op: 1, frame: 0, ended: { at: 2 }, rulings: [{ by: 'ann' }] }]);
});
