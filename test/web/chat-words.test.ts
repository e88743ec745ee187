// Amounts, names and times of the chat.
import { expect, test } from 'vitest';
import { budgetOf, conversationName, jsonObjectProblem, readAmount, toolLabel } from '../../web/src/chat/words.ts';
import {
  answerRule,
  changedArguments,
  questionEnd,
  timeLeft,
  whyNoAnswer,
} from '../../web/src/questions/question-words.ts';

test('amounts are read as people write them', () => {
  const tokens = (text: string) => readAmount(text, 'tokens', undefined).value;
  expect(['50,000', '50 000', '50k', '1.5M', ' 7 '].map(tokens)).toEqual([50_000, 50_000, 50_000, 1_500_000, 7]);
  expect(readAmount('$0.10', 'usd', undefined)).toEqual({ value: 0.1, problem: null });
  expect(readAmount('', 'usd', 1)).toEqual({ value: null, problem: null });
});

test('what is no amount, or above what one may give, is said instead of sent', () => {
  for (const text of ['x', '-1', '0', '1.5', '1e9', '5 apples'])
    expect(readAmount(text, 'tokens', undefined).problem).toBe('Tokens, such as 50,000.');
  expect(readAmount('2', 'usd', 1)).toEqual({ value: null, problem: 'At most $1.' });
  expect(readAmount('60k', 'tokens', 50_000).problem).toBe('At most 50,000 tokens.');
  expect(budgetOf(null, null)).toBe(undefined);
  expect(budgetOf(5, null)).toEqual({ tokens: 5 });
});

test('a conversation is named after what its first message is about', () => {
  const name = (text: string, taken: string[] = []) => conversationName(text, taken);
  expect(name('Should a small team keep its data in SQLite or in DuckDB?')).toBe('small-team-keep-data');
  expect(name('Should a small team keep its data?', ['small-team-keep-data', 'small-team-keep-data-2'])).toBe(
    'small-team-keep-data-3',
  );
  expect(name('你好')).toBe('chat');
  expect(name('Größe prüfen')).toBe('groe-prufen');
  expect(name(`${'x'.repeat(300)} y`)).toBe('chat');
});

test('JSON that is not yet JSON is told with the line', () => {
  expect(jsonObjectProblem('{"a": 1}')).toBe(null);
  expect(jsonObjectProblem('{\n  "a": x\n}')).toMatch(/^This is not JSON yet: /u);
  expect(jsonObjectProblem('[1]')).toBe('A JSON object is needed: { … }');
});

test('a tool is named with its server', () => {
  expect(toolLabel('mail__send')).toBe('mail/send');
  expect(toolLabel('ask_person')).toBe('ask_person');
});

test('the time that is left is told in the two largest units', () => {
  const left = (seconds: number) => timeLeft(seconds * 1000, 0);
  expect([0, 50, 60, 3_599, 3_600, 86_280, 172_800, -5].map(left)).toEqual([
    '0 s',
    '50 s',
    '1 min',
    '59 min',
    '1 h 0 min',
    '23 h 58 min',
    '2 days',
    '0 s',
  ]);
});

test('an edit counts the arguments that differ, whatever the order of their keys', () => {
  const before = { to: 'a', text: { x: 1, y: 2 }, gone: 1 };
  expect(changedArguments(before, { gone: 1, text: { y: 2, x: 1 }, to: 'a' })).toBe(0);
  expect(changedArguments(before, { to: 'b', text: { x: 1, y: 3 }, more: 1 })).toBe(4);
});

const open = { state: 'open', why: 'tool', mayAnswer: false, answers: [], not: null, by: null } as const;
const me = { name: 'ann', watchOnly: false };

test('without buttons, it is said why', () => {
  expect(whyNoAnswer({ ...open, mayAnswer: true }, me)).toBe(null);
  expect(whyNoAnswer(open, { ...me, watchOnly: true })).toMatch(/may look only/u);
  expect(whyNoAnswer({ ...open, by: ['bob', 'cid'] }, me)).toBe('It waits for bob or cid.');
  expect(whyNoAnswer({ ...open, not: 'asker' }, me)).toMatch(/You started this run/u);
  expect(whyNoAnswer({ ...open, answers: [{ by: 'ann', allow: true, at: 1 }] }, me)).toMatch(/You have allowed it/u);
  expect(whyNoAnswer({ ...open, state: 'stale', mayAnswer: true }, me)).toMatch(/agents have changed/u);
  expect(whyNoAnswer({ ...open, why: 'client' }, me)).toMatch(/program that started/u);
});

test('who else has a say is told', () => {
  const answers = [{ by: 'bob', allow: true, at: 1 }];
  expect(answerRule({ need: 1, by: null, not: null, answers: [] })).toEqual([]);
  expect(answerRule({ need: 2, by: ['ann', 'bob', 'cid'], not: 'asker', answers })).toEqual([
    '2 people must allow it; so far bob. One who denies is enough.',
    'ann, bob or cid may answer.',
    'Not whoever started the run.',
  ]);
});

test('how a question ended, and by whom', () => {
  expect(
    questionEnd('allowed', [
      { by: 'ann', allow: true },
      { by: 'bob', allow: true },
    ]),
  ).toBe('Allowed by ann and bob');
  expect(
    questionEnd('denied', [
      { by: 'ann', allow: true },
      { by: 'bob', allow: false },
    ]),
  ).toBe('Denied by bob');
  expect(questionEnd('allowed', [])).toBe('Allowed by an earlier answer');
  expect(questionEnd('expired', [])).toMatch(/nobody answered in time/u);
  expect(questionEnd('cancelled', [])).toMatch(/was stopped/u);
});
