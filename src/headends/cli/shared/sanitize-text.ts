// Sanitizes foreign text for a terminal, and measures and wraps it in columns.
//
//   sanitized-no-control. `sanitizeBlock`, `sanitizeLine` and `sanitizeAll` return no control character but `\n` and `\t`
//       (`sanitizeLine`: none), no text direction override and no half of a surrogate pair.
//   width-never-less. `width` never returns less than a terminal uses, so a line cut to n columns never wraps.
import { stripVTControlCharacters } from 'node:util';
import { escapeHidden, unifyLineBreaks } from '#base';

/** Controls, direction overrides and isolates, and the invisible tag alphabet. */
const unwanted = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu;

/** For text without control sequences. */
export const removeControls = (text: string): string => unifyLineBreaks(text).replace(unwanted, '').toWellFormed();

/** Text of several lines. */
export const sanitizeBlock = (text: string): string => removeControls(stripVTControlCharacters(text));

export const sanitizeLine = (text: string): string => sanitizeBlock(text).replace(/\s+/gu, ' ').trim();

/** The same value with every string in it sanitized. */
export const sanitizeAll = <T>(value: T): T => {
  if (typeof value === 'string') return sanitizeBlock(value) as T;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((part: unknown) => sanitizeAll(part)) as T;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [sanitizeBlock(key), sanitizeAll(part)])) as T;
};

/** JSON that is safe for a terminal: also escapes control characters that JSON leaves as they are. */
export const safeJson = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(
    /[\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );

/** On one line, with invisible and control characters escaped as in JSON. */
export const escapeInvisible = (text: string): string =>
  safeJson(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replace(
      /[\uFEFF\u{E0000}-\u{E007F}\u200B-\u200F]/gu,
      (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
    );

/** JSON in which everything can be seen: whatever could hide or pretend to be something else is escaped. It parses to the same value. */
export const visibleJson = (value: unknown, indent?: number): string =>
  escapeHidden(JSON.stringify(value, null, indent) ?? 'null');

/** The same for text of several lines. */
export const visibleText = (text: string): string => escapeHidden(unifyLineBreaks(text).replaceAll('\t', '  '));

/** Breaks one line wherever it reaches `columns` columns: nothing of it starts a row by itself. */
export const breakColumns = (line: string, columns: number): readonly string[] => {
  const rows: string[] = [];
  let [row, used] = ['', 0];
  for (const character of line) {
    const needed = characterWidth(character);
    if (used + needed > columns && row !== '') {
      rows.push(row);
      [row, used] = ['', 0];
    }
    row += character;
    used += needed;
  }
  return [...rows, row];
};

/** One line that keeps the spaces at its ends. */
export const collapseSpaces = (text: string): string => {
  const line = sanitizeLine(text);
  if (line === '') return text === '' ? '' : ' ';
  return `${/^\s/u.test(text) ? ' ' : ''}${line}${/\s$/u.test(text) ? ' ' : ''}`;
};

/** Columns that a terminal needs for one line of sanitized text. */
export const width = (text: string): number => {
  if (/^[ -~]*$/u.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += characterWidth(character);
  return columns;
};

/** Cuts the text to at most `columns` columns and marks a cut with an ellipsis. */
export const truncateColumns = (text: string, columns: number): string => {
  if (width(text) <= columns) return text;
  if (columns <= 0) return '';
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
};

/** The beginning of a text that may be huge, on one line. */
export const excerpt = (text: string, columns: number): string => {
  const charsMax = columns * 4 + 64;
  const line = sanitizeLine(text.slice(0, charsMax));
  return truncateColumns(text.length > charsMax && width(line) < columns ? `${line}…` : line, columns);
};

export const padEnd = (text: string, columns: number): string => {
  const fitted = truncateColumns(text, columns);
  return fitted + ' '.repeat(Math.max(0, columns - width(fitted)));
};

export const padStart = (text: string, columns: number): string => {
  const fitted = truncateColumns(text, columns);
  return ' '.repeat(Math.max(0, columns - width(fitted))) + fitted;
};

const zeroWidth = /^[\p{Mn}\p{Me}\u200B-\u200F]$/u;
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u231A-\u231B\u2329-\u232A\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1D300}-\u{1D376}\u{1F000}-\u{1FAFF}\u{20000}-\u{3FFFD}])$/u;

const characterWidth = (character: string): number => {
  // A variation selector can turn the narrow character before it into a wide emoji.
  if (character === '\uFE0F') return 1;
  if (zeroWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
};

/**
 * Sanitizes foreign text and wraps it to lines of at most `columns` columns: the first line starts with `first`, the others with
 * `hang` spaces. A word that is longer than a line, such as a path, is not broken.
 */
export const wrapText = (first: string, text: string, columns: number, hang = 4): readonly string[] => {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of sanitizeLine(text).split(' ')) {
    if (!isEmpty && width(line) + 1 + width(word) > columns) {
      lines.push(line);
      line = ' '.repeat(hang);
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
};

/** Wraps sanitized text of several lines, and keeps its line breaks and indents. A word that is longer than a line is not broken. */
export const wrapLines = (text: string, columns: number): readonly string[] =>
  text
    .trimEnd()
    .replaceAll('\t', '  ')
    .split('\n')
    .flatMap((line) => {
      if (width(line) <= columns) return [line.trimEnd()];
      const indent = /^ */u.exec(line)![0].length;
      const hang = Math.min(indent, Math.floor(columns / 2));
      return wrapText(' '.repeat(hang), line, columns, hang);
    });
