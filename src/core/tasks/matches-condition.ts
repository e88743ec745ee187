// Decides whether a result meets a condition.
//
//   condition-first-line. Ignoring case. Blank lines, quotes and Markdown marks before its first word are skipped.
//   condition-whole-word. The line must be or start with one of the words, as a whole word: `no` does not match `nothing` or
//       `no-one`.
//   condition-constant-time. The time does not grow with the size of the result.
import type { TaskCondition } from '#contracts';

export const matchesCondition = (condition: TaskCondition, result: string): boolean => {
  const line = firstLine(result);
  const startsWithAny = (words: string | readonly string[]): boolean =>
    (typeof words === 'string' ? [words] : words).some((word) => beginsWith(line, normalize(word)));
  return condition.is === undefined ? !startsWithAny(condition.not ?? []) : startsWithAny(condition.is);
};

const headChars = 2_000;
const lineChars = 500;

const firstLine = (result: string): string => {
  const head = result.slice(0, headChars).trimStart();
  return normalize(head.slice(0, Math.min(lineChars, /[\n\r\u2028\u2029]/u.exec(head)?.index ?? lineChars)));
};

const normalize = (text: string): string => text.normalize('NFC').toLowerCase().trim();

const beginsWith = (line: string, word: string): boolean =>
  isWordOf(line, word) || isWordOf(line.replace(/^[\s*_#>`"'“”‘’«»([-]+/u, ''), word);

const isWordOf = (line: string, word: string): boolean =>
  word !== '' &&
  line.startsWith(word) &&
  !/^(?:[\p{L}\p{N}\p{M}]|[-_'’][\p{L}\p{N}]|\.\p{N})/u.test(line.slice(word.length));
