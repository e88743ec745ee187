// Which first lines meet a condition.
import { expect, test } from 'vitest';
import { matchesCondition } from '#testing/core/tasks';

const says = (result: string, words: string | readonly string[]): boolean => {
  const is = matchesCondition({ task: 'a', is: words }, result);
  expect(matchesCondition({ task: 'a', not: words }, result), 'not is the opposite').toBe(!is);
  return is;
};

// invariant: condition-first-line
test.each([
  ['accepted', 'accepted'],
  ['ACCEPTED.', 'accepted'],
  ['accepted: well done\nrejected', 'Accepted'],
  ['\n\n  Accepted, all of it', 'accepted'],
  ['**Accepted** because', 'accepted'],
  ['_accepted_', 'accepted'],
  ['# Accepted', 'accepted'],
  ['"accepted"', 'accepted'],
  ['- bug-report', 'bug-report'],
  ['no', ['yes', 'no']],
  ['Yes. It is', ['no', 'yes']],
  ['C++ it is', 'C++'],
  ['*nix', '*nix'],
  ['E\u0301TUDE', 'étude'],
  ['needs work\r\nmuch', ' needs work '],
  ['v1.', 'v1'],
])('%j matches %j', (result, words) => expect(says(result, words)).toBe(true));

// invariants: condition-first-line, condition-whole-word
test.each([
  ['nothing', 'no'],
  ['no-one', 'no'],
  ['not', 'no'],
  ['bug-report', 'bug'],
  ['bug_report', 'bug'],
  ["accepted'nt", 'accepted'],
  ['v1.2', 'v1'],
  ['It is accepted', 'accepted'],
  ['rejected\naccepted', 'accepted'],
  ['rejected\u2028accepted', 'accepted'],
  ['accept', 'accepted'],
  ['', 'accepted'],
  [' \n ', 'accepted'],
  ['***', 'accepted'],
])('%j does not match %j', (result, words) => expect(says(result, words)).toBe(false));

// invariant: condition-constant-time
test('a result of fifty million characters is checked as fast as a short one, ten thousand times', () => {
  const result = `yes ${'y'.repeat(50_000_000)}`;
  for (let count = 0; count < 10_000; count++)
    if (!matchesCondition({ task: 'a', is: 'yes' }, result)) throw new Error('no');
  expect(says(result, 'yes')).toBe(true);
});
