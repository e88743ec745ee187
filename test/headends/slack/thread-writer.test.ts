// The writer of a thread against the fake Slack: whatever goes wrong, the thread shows the turn whole, once and in order.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toSlackMarkdown } from '#testing/headends/slack';
import { testRuns } from '../../test-seed.ts';
import { charsMax, playThread } from './written-thread.ts';
import type { Action, Fault, PlayedThread, Schedule } from './written-thread.ts';

const word = fc.oneof(
  { weight: 12, arbitrary: fc.stringMatching(/^[a-z]{1,9}$/u) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('👨‍👩‍👧', 'é́', '<!channel>', '<@U1>', 'a&lt;b', '`x<y`', '[x](https://a.test/b)', '-', '#'),
  },
  { weight: 1, arbitrary: fc.stringMatching(/^[a-z]{60,600}$/u) },
);
const space = fc.constantFrom(' ', ' ', ' ', '\n', '\n\n', '\r\n', '  ');
/** Pieces end anywhere, also inside words. */
const prose = fc.tuple(fc.array(fc.tuple(word, space), { minLength: 1, maxLength: 8 }), fc.nat(5)).map(([pairs, cut]) =>
  pairs
    .flat()
    .join('')
    .slice(0, -cut || undefined),
);
const code = fc
  .array(fc.stringMatching(/^ {0,4}[a-z]{1,9}( [a-z]{1,9}){0,3}$/u), { minLength: 1, maxLength: 8 })
  .map((lines) => `\n\`\`\`js\n${lines.join('\n')}\n\`\`\`\n`);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('add' as const), text: prose }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('add' as const), text: code }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 100, 900, 1_500, 5_000, 400_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), keep: fc.nat(300) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('card' as const),
      id: fc.nat(3),
      details: fc.stringMatching(/^[a-z]{0,5}$/u),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end card' as const), id: fc.nat(3) }) },
);

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 12, arbitrary: fc.constant('none' as const) },
  {
    weight: 10,
    arbitrary: fc.constantFrom<Fault>(
      'slow',
      'limited',
      'refused',
      'failed before',
      'failed after',
      'hang',
      'lost',
      'late',
      'closed',
      'crash before',
      'crash after',
    ),
  },
);

const schedule: fc.Arbitrary<Schedule> = fc.record({
  actions: fc.array(action, { maxLength: 20 }),
  faults: fc.array(fault, { maxLength: 24 }),
});

/** Without what a break between two messages may add or leave out. */
const letters = (text: string): string => text.replaceAll(/^[ >]*```.*$/gmu, '').replaceAll(/\s/gu, '');

const endsInCode = (text: string): boolean =>
  text.split('\n').reduce((isCode, line) => (isCode ? line.trim() !== '```' : line.startsWith('```')), false);

const checkThread = ({ view, messages, status, appends }: PlayedThread): void => {
  const text = toSlackMarkdown(view.text);
  expect(messages.map((message) => letters(message.text)).join('')).toBe(letters(text));
  for (const message of messages) {
    expect(message.text.length).toBeLessThanOrEqual(charsMax);
    expect(message.isStreaming).toBe(false);
    expect(message.text).not.toMatch(/<[!@#]/u);
    expect(endsInCode(message.text), message.text).toBe(false);
    expect(message.cards.every((card) => card.status === 'complete')).toBe(true);
    expect(message.shown).not.toContain('… *');
  }
  expect(messages.map((message) => message.buttons.length)).toEqual(
    messages.map((_, index) => (index < messages.length - 1 ? 0 : 1)),
  );
  for (const { title } of view.cards)
    expect(
      messages.some((message) => message.shown.includes(title)),
      title,
    ).toBe(true);
  expect(status).toBe('active');
  for (const [index, at] of appends.slice(1).entries()) expect(at - appends[index]!).toBeGreaterThanOrEqual(1_000);
};

/** The messages that do not end between two words. */
const midWordBreaks = ({ view, messages }: PlayedThread): readonly string[] => {
  const text = toSlackMarkdown(view.text).replaceAll(/^[ >]*```.*$/gmu, '');
  const breaks = new Set([...text.matchAll(/\s+/gu)].map(({ index }) => letters(text.slice(0, index)).length));
  let shown = 0;
  return messages.slice(0, -1).flatMap((message) => {
    shown += letters(message.text).length;
    return breaks.has(shown) || shown === 0 || shown === letters(text).length ? [] : [message.text];
  });
};

// invariants: writer-one-call, writer-whole, editor-once, sent-in-order, sent-confirmed
test('whatever goes wrong, the thread shows the text whole, once and in order, and every card as it ended', async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async (given) => {
      const played = await playThread(given);
      checkThread(played);
      expect(played.inFlightMax).toBe(1);
    }),
    { numRuns: process.env['TEST_SEED'] === undefined ? 2_000 : 20_000 },
  );
});

const cutInto = (text: string, lengths: readonly number[]): readonly string[] => {
  let from = 0;
  return [...lengths, Infinity].map((length) => text.slice(from, (from += length)));
};

// invariants: split-boundaries, split-nothing-lost
test('a text is cut between words, unless a word exceeds a message', async () => {
  const short = fc.stringMatching(/^[a-z]{1,12}$/u);
  const words = fc.array(fc.tuple(short, space), { maxLength: 60 }).map((pairs) => pairs.flat().join(''));
  const pieces = fc
    .tuple(
      fc.array(fc.oneof({ weight: 3, arbitrary: words }, code), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 90 })),
    )
    .map(([parts, lengths]) => cutInto(parts.join(''), lengths));
  const waits = fc.array(fc.constantFrom(0, 1_500, 400_000), { minLength: 1 });
  const schedules = fc
    .tuple(pieces, waits, fc.array(fault, { maxLength: 20 }))
    .map(([texts, ms, faults]): Schedule => ({
      faults,
      actions: texts.flatMap((text, index): readonly Action[] => [
        { kind: 'add', text },
        { kind: 'wait', ms: ms[index % ms.length]! },
      ]),
    }));
  await fc.assert(
    fc.asyncProperty(schedules, async (given) => {
      const played = await playThread(given);
      checkThread(played);
      expect(midWordBreaks(played)).toEqual([]);
    }),
    { numRuns: testRuns(3_000) },
  );
});

const add = (text: string): Action => ({ kind: 'add', text });
const block = '\n```js\na\n```\n';

test.each<[string, Schedule]>([
  [
    'a stream that is withdrawn while it starts',
    {
      actions: [add(`aa a ${'a'.repeat(240)} ${block}`), { kind: 'wait', ms: 5_000 }, { kind: 'withdraw', keep: 7 }],
      faults: ['none', 'none', 'closed', 'none', 'slow'],
    },
  ],
  [
    'a text that ends with the first line of a code block',
    { actions: [add(`${block}\`\`\`${'a'.repeat(60)} `)], faults: [] },
  ],
  ['a first line of code that exceeds a message', { actions: [add(`\`\`\`js ${'word '.repeat(90)}`)], faults: [] }],
  [
    'a first line of code that a pause interrupts',
    { actions: [add('\n```'), { kind: 'pause' }, add('a ')], faults: [] },
  ],
])('found earlier: %s', async (_, given) => {
  const played = await playThread(given);
  checkThread(played);
  expect(midWordBreaks(played)).toEqual([]);
});
