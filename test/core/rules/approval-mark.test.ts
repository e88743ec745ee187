// Which marks for approval hold for a tool.
// invariant: marks-only-add
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApprovalMark, ApprovalMarks } from '#contracts';
import { addMarks, approvalMark, strictestRule } from '#core/rules';

const names = ['mail', 'mail/send', 'mail/read', 'files/mail', 'send', 'mail__send', '__proto__', 'constructor'];

const people = fc.uniqueArray(fc.constantFrom('ops', 'legal', 'ann'), { minLength: 1 });
const mark: fc.Arbitrary<ApprovalMark> = fc.record(
  {
    by: people,
    need: fc.integer({ min: 1, max: 3 }),
    not: fc.constant('asker' as const),
    when: fc.constant('arguments' as const),
  },
  { requiredKeys: [] },
);
const marks: fc.Arbitrary<ApprovalMarks> = fc.dictionary(fc.constantFrom(...names), mark, { noNullPrototype: false });

const tools = [
  { name: 'send' },
  { name: 'mail' },
  { name: 'toString' },
  { name: '__proto__' },
  { name: 'mail__send', source: 'mail', own: 'send' },
  { name: 'mail__read', source: 'mail', own: 'read' },
  { name: 'files__mail', source: 'files', own: 'mail' },
  { name: 'send__mail', source: 'send', own: 'mail' },
];

/** 2: always, 1: by its arguments, 0: never. */
const strength = (found: ApprovalMark | undefined): number =>
  found === undefined ? 0 : found.when === undefined ? 2 : 1;

test('whatever is added, a tool that was marked stays marked, and no less', () =>
  fc.assert(
    fc.property(marks, marks, (before, more) => {
      for (const both of [addMarks(before, more), addMarks(more, before)])
        for (const tool of tools) {
          const expected = Math.max(strength(approvalMark(before, tool)), strength(approvalMark(more, tool)));
          expect(strength(approvalMark(both, tool))).toBe(expected);
        }
    }),
  ));

test('the order in which sets of marks are joined makes no difference to what is marked, and none to a set joined twice', () =>
  fc.assert(
    fc.property(fc.array(marks, { maxLength: 4 }), (layers) => {
      const join = (sets: readonly ApprovalMarks[]) => sets.reduce(addMarks, {});
      const strengths = (all: ApprovalMarks) => Object.entries(all).map(([name, one]) => [name, strength(one)]);
      const joined = join(layers);
      expect(strengths(join(layers.toReversed()))).toEqual(strengths(joined));
      expect(addMarks(joined, joined)).toEqual(joined);
      expect(Object.keys(joined)).toEqual(Object.keys(joined).toSorted());
    }),
  ));

test('the mark of a tool comes before that of its server, and the other one only makes it stricter', () =>
  fc.assert(
    fc.property(mark, mark, (ofTool, ofServer) => {
      const { when, ...rule } = ofTool;
      const tool = { name: 'mail__send', source: 'mail', own: 'send' };
      const found = approvalMark({ 'mail/send': ofTool, mail: ofServer }, tool);
      const isConditional = when !== undefined && ofServer.when !== undefined;
      const by = rule.by === undefined ? {} : { by: rule.by.toSorted() };
      expect(found).toEqual({ ...rule, ...by, ...(isConditional ? { when } : {}) });
      expect(approvalMark({ mail: ofServer }, tool)).toEqual(ofServer);
      expect(approvalMark({ 'mail/send': ofTool }, { name: 'send' })).toBeUndefined();
      expect(approvalMark(undefined, tool)).toBeUndefined();
    }),
  ));

test('the rule that is added replaces the one that was there, unless it says nothing', () => {
  const rule = { by: ['ops'], need: 1 } as const;
  expect(addMarks({ send: rule }, { send: {} })).toEqual({ send: rule });
  expect(addMarks({ send: rule }, { send: { not: 'asker' } })).toEqual({ send: { not: 'asker' } });
  expect(addMarks({ send: { when: 'arguments' } }, { send: rule })).toEqual({ send: rule });
  expect(addMarks({}, { send: { by: ['b', 'a', 'b'] } })).toEqual({ send: { by: ['a', 'b'] } });
});

test('several rules together are met only by answers that meet each of them', () => {
  const rules = [{ by: ['ann', 'ops'], need: 2 }, {}, { by: ['ops', 'legal'], not: 'asker' }] as const;
  expect(strictestRule(rules)).toEqual({ by: ['ops'], need: 2, not: 'asker' });
  expect(strictestRule([{}, {}])).toEqual({});
  expect(strictestRule([{ by: ['ann'] }, { by: ['ops'] }])).toEqual({ by: [] });
});
