import { expect, test } from 'vitest';
import { extractJson, findJsonAnswer } from '#base';

const newlines = '\n'.repeat(1_000_000);

test('a value is found alone, between code fences, and in other text', () => {
  for (const text of [
    '{"a":1}',
    '```json\n{"a":1}\n```',
    '```\n{"a":1}\n```',
    ' ```json  \n\n {"a":1} \n\n  ```  ',
    'Here:\n```json\n{"a":1}\n```\nDone.',
    'It is {"a":1}.',
  ])
    expect(extractJson(text)).toEqual({ a: 1 });
  for (const text of ['', '```', '```json```', '```json\n```', '```\n```', 'none'])
    expect(extractJson(text)).toBeUndefined();
});

// A regular expression took three seconds for 2,000 empty lines, and eight times as long for twice as many.
test('a million empty lines take no longer than other text', () => {
  for (const start of ['```json\n', '```', '']) {
    expect(extractJson(`${start}${newlines}x`)).toBeUndefined();
    expect(extractJson(`${start}${newlines}[1]${newlines}`)).toEqual([1]);
  }
  expect(extractJson(`\`\`\`json${newlines}[1]${newlines}\`\`\``)).toEqual([1]);
});

test('many brackets take no longer than other text, and more than 32 values are not checked one by one', () => {
  for (const text of ['{', '[', '[ ', '{"', '[1', '{x}', '[]x'])
    expect(findJsonAnswer(text.repeat(300_000), () => [])).toHaveProperty('problems');
  let checks = 0;
  const check = (): readonly string[] => [`No ${checks++}.`];
  findJsonAnswer('[1] '.repeat(32), check);
  expect(checks).toBe(32);
  expect(findJsonAnswer('[1] '.repeat(33), check)).toEqual({ problems: [expect.stringContaining('more than one')] });
  expect(checks).toBe(32);
});
