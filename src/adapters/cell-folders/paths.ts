// Rules for the file names of a cell, the same for every kind of cell folder.
//
//   path-stays-in-outputs. A path is checked as text before anything is opened; a path that passes names something below
//       `outputs/`.
//   path-has-one-spelling. No part contains hidden characters, imitates a dot or a slash, or has a second spelling that a file
//       system may treat as equal.
//   path-refusal-says-why. A refusal names the part and the reason. It shows hidden characters as escapes, and no host path.
import { CloisterError, isName, utf8Bytes } from '#base';
import type { CellId, RunId } from '#base';

const segmentBytesMax = 200;
const pathBytesMax = 1000;
const segmentsMax = 8;
const quotedCharsMax = 40;

/** Names with this prefix belong to the runtime: files that are being written. */
export const reservedPrefix = '.cloister-';

/** Returns the path segments, outermost first. Throws `file_refused`. */
export const parsePath = (path: string): readonly string[] => {
  const problem = pathProblem(path);
  if (problem !== undefined) throw new CloisterError('file_refused', problem);
  return path.split('/');
};

/** Why a path is refused; undefined when it is not. */
export const pathProblem = (path: string): string | undefined => {
  if (path === '') return 'The path is empty.';
  if (path.startsWith('/')) return 'The path starts with a slash; it must be relative.';
  // The size is checked first, so that nothing below processes unbounded text.
  if (path.length > pathBytesMax || utf8Bytes(path) > pathBytesMax)
    return `The path is longer than ${pathBytesMax} bytes.`;
  const segments = path.split('/');
  if (segments.length > segmentsMax) return `The path has more than ${segmentsMax} parts.`;
  for (const [index, segment] of segments.entries()) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return `Part ${index + 1} of the path, ${quoteName(segment)}, ${problem}.`;
  }
  return undefined;
};

const segmentProblem = (segment: string): string | undefined => {
  if (segment === '') return 'is empty';
  if (segment === '.' || segment === '..') return 'is not a file name';
  if (hidden.test(segment)) return 'contains a control, bidirectional, zero-width or malformed character';
  if (segment.includes('\\')) return 'contains a backslash';
  if (segment.normalize('NFC') !== segment) return 'is not in Unicode NFC form';
  if (hasLookalike(segment)) return 'contains a character that looks like a dot or a slash';
  if (dotsOrPadding.test(segment)) return 'consists only of dots, or starts or ends with whitespace';
  if (utf8Bytes(segment) > segmentBytesMax) return `is longer than ${segmentBytesMax} bytes`;
  if (segment.startsWith(reservedPrefix) || segment.startsWith('.ai-agent'))
    return 'starts with a prefix that is reserved for the runtime';
  return undefined;
};

/** Controls, bidi and other format characters, lone surrogates, line separators, and everything that renders as nothing. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const dotsOrPadding = /^\s|\s$|^\.+$/u;
/** Lookalike slashes and backslashes that no normal form maps to the ASCII ones. */
const slashLike = /[\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9]/u;

const hasLookalike = (segment: string): boolean =>
  slashLike.test(segment) || [...segment].some((char) => char > '\u007f' && /[./\\]/u.test(char.normalize('NFKC')));

/** A name for an error message: short, and with hidden characters escaped. */
export const quoteName = (name: string): string => {
  const chars = [...name];
  const shown = chars.slice(0, quotedCharsMax).map((char) => (hidden.test(char) ? escapeChar(char) : char));
  return `"${shown.join('')}${chars.length > quotedCharsMax ? '…' : ''}"`;
};

const escapeChar = (char: string): string => `\\u{${char.codePointAt(0)!.toString(16)}}`;

/** Throws `name_invalid` unless both can be folder names. */
export const checkNames = (run: RunId, cell: CellId): void => {
  if (!isName(run))
    throw new CloisterError('name_invalid', `The run id ${quoteName(run)} cannot be used as a folder name.`);
  if (!isName(cell))
    throw new CloisterError('name_invalid', `The cell id ${quoteName(cell)} cannot be used as a folder name.`);
};

/** The requested range within `size` bytes; values out of range or NaN are clamped. */
export const clampRange = (size: number, from = 0, length = size): { readonly start: number; readonly end: number } => {
  const start = clamp(from, 0, size);
  return { start, end: start + clamp(length, 0, size - start) };
};

const clamp = (value: number, low: number, high: number): number =>
  Number.isNaN(value) ? low : Math.min(Math.max(Math.trunc(value), low), high);
