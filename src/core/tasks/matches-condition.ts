// Whether a result says what a condition asks for.
//
//   M1. Only the first line counts, whatever its case; blank lines, quotes and Markdown marks before its first word do not.
//   M2. It must be one of the words or begin with one, as a whole word: `no` is not the beginning of `nothing` or `no-one`.
//   M3. Its time does not grow with the result.
import type { TaskCondition } from '#contracts';

export const matchesCondition = (condition: TaskCondition, result: string): boolean => {
  const line = firstLine(result);
  const says = (words: string | readonly string[]): boolean =>
    (typeof words === 'string' ? [words] : words).some((word) => beginsWith(line, plain(word)));
  return condition.is === undefined ? !says(condition.not ?? []) : says(condition.is);
};

const headChars = 2_000;
const lineChars = 500;

const firstLine = (result: string): string => {
  const head = result.slice(0, headChars).trimStart();
  return plain(head.slice(0, Math.min(lineChars, /[\n\r\u2028\u2029]/u.exec(head)?.index ?? lineChars)));
};

const plain = (text: string): string => text.normalize('NFC').toLowerCase().trim();

const beginsWith = (line: string, word: string): boolean =>
  isWordOf(line, word) || isWordOf(line.replace(/^[\s*_#>`"'“”‘’«»([-]+/u, ''), word);

const isWordOf = (line: string, word: string): boolean =>
  word !== '' &&
  line.startsWith(word) &&
  !/^(?:[\p{L}\p{N}\p{M}]|[-_'’][\p{L}\p{N}]|\.\p{N})/u.test(line.slice(word.length));
