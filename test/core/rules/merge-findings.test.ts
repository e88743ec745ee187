import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeFindings, numberDuplicates } from '#core/rules';
import type { Finding } from '#core/rules';

const finding = (text: string, by: string, source: string | null = null): Finding => ({ text, source, by: [by] });

/** Few texts and sources, so that they collide; in different spellings. */
const text = fc.constantFrom(
  'Tea is hot',
  'tea is  HOT.',
  'Coffee is hot',
  'Milk',
  'ｍｉｌｋ',
  'Tea',
  '100 users',
  '100',
  '✓',
  '→',
  '…',
);
const source = fc.option(fc.constantFrom('https://a.example/1', 'https://b.example/2', 'HTTPS://A.example/1'), {
  nil: null,
});
const findings = fc.array(
  fc.record({ text, source, by: fc.uniqueArray(fc.constantFrom('one', 'two', 'three'), { minLength: 1 }) }),
  { maxLength: 12 },
);
/** Three sources, and texts with letters, like most findings. */
const plain = findings.map((list) => list.filter((one) => /\p{L}/u.test(one.text)));

test('merging a merged list changes nothing', () =>
  fc.assert(
    fc.property(plain, (list) => {
      const once = mergeFindings(list);
      expect(mergeFindings(once)).toEqual(once);
    }),
    { numRuns: 1_000 },
  ));

test('no two findings of the result have the same text or the same source', () =>
  fc.assert(
    fc.property(plain, (list) => {
      const merged = mergeFindings(list);
      const key = (value: string): string =>
        value
          .normalize('NFKC')
          .toLowerCase()
          .replace(/[^\p{L}\p{N}]+/gu, ' ')
          .trim();
      const sources = merged.flatMap((one) => (one.source === null ? [] : [key(one.source)]));
      expect(new Set(sources).size).toBe(sources.length);
      const texts = merged.map((one) => key(one.text));
      expect(new Set(texts).size).toBe(texts.length);
    }),
    { numRuns: 1_000 },
  ));

test('every finder of every finding is named beside a text that contains it', () =>
  fc.assert(
    fc.property(plain, (list) => {
      const merged = mergeFindings(list);
      for (const one of list) {
        const words =
          one.text
            .normalize('NFKC')
            .toLowerCase()
            .match(/[\p{L}\p{N}]+/gu) ?? [];
        for (const by of one.by)
          expect(
            merged.some(
              (other) =>
                other.by.includes(by) &&
                words.every((word) => other.text.normalize('NFKC').toLowerCase().includes(word)),
            ),
            `${by} found "${one.text}"`,
          ).toBe(true);
      }
    }),
    { numRuns: 1_000 },
  ));

test('the order is that of first occurrence', () =>
  fc.assert(
    fc.property(plain, (list) => {
      const merged = mergeFindings(list);
      const firsts = merged.map((one) => list.findIndex((other) => one.text.split(' / ')[0] === other.text));
      expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
      expect(merged.length).toBeLessThanOrEqual(list.length);
    }),
    { numRuns: 1_000 },
  ));

test.for<[title: string, list: readonly Finding[], expected: readonly Partial<Finding>[]]>([
  [
    'the same text in another spelling',
    [finding('Tea is hot.', 'one'), finding('  tea IS hot', 'two')],
    [{ text: 'Tea is hot.', by: ['one', 'two'] }],
  ],
  [
    'the same source with different text: both are kept',
    [finding('Tea is hot', 'one', 'https://a.example'), finding('Tea burns', 'two', 'https://a.example')],
    [{ text: 'Tea is hot / Tea burns', source: 'https://a.example', by: ['one', 'two'] }],
  ],
  [
    'the same finder twice is named once',
    [finding('Tea', 'one'), finding('tea', 'one')],
    [{ text: 'Tea', by: ['one'] }],
  ],
  [
    'two findings that a third shows to be one',
    [
      finding('Tea', 'one'),
      finding('Hot drink', 'two', 'https://a.example'),
      finding('tea', 'three', 'https://a.example'),
    ],
    [{ by: ['one', 'two', 'three'], source: 'https://a.example' }],
  ],
  [
    'texts that have nothing in common',
    [finding('Tea', 'one'), finding('Milk', 'two')],
    [{ text: 'Tea' }, { text: 'Milk' }],
  ],
  ['symbols that are not letters', [finding('👍', 'one'), finding('👎', 'two')], [{ text: '👍' }, { text: '👎' }]],
  ['a minus sign', [finding('-5 %', 'one'), finding('5 %', 'two')], [{ text: '-5 %' }, { text: '5 %' }]],
  ['C and C++', [finding('Use C', 'one'), finding('Use C++', 'two')], [{ text: 'Use C' }, { text: 'Use C++' }]],
  [
    'sources that differ only in symbols',
    [finding('Tea', 'one', 'https://a.example/x?y=1'), finding('Milk', 'two', 'https://a.example/x/y/1')],
    [{ text: 'Tea' }, { text: 'Milk' }],
  ],
])('findings are merged by their text, or kept separate: %s', ([, list, expected]) => {
  const merged = mergeFindings(list);
  expect(merged).toMatchObject(expected);
  expect(merged).toHaveLength(expected.length);
});

test('an agent that is asked more than once is numbered', () => {
  expect(numberDuplicates(['a', 'b', 'a', 'c', 'a'])).toEqual(['a 1', 'b', 'a 2', 'c', 'a 3']);
});
