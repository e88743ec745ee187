// What a cell's file may be called: one set of rules for every workspace, whatever lies beneath.
//
//   P1. A path is judged as text before anything is opened; what passes names something below `outputs/`.
//   P2. No part hides characters, imitates a dot or a slash, or has a second spelling that a file system may take for it.
//   P3. A refusal says which part and why. It shows hidden characters as escapes, and no host path.
import { CloisterError, isName, utf8Bytes } from '#base';
import type { CellId, RunId } from '#base';

const segmentBytesMax = 200;
const pathBytesMax = 1000;
const segmentsMax = 8;
const quotedCharsMax = 40;

/** Names that begin so are the runtime's own: files in the middle of being written. */
export const reservedPrefix = '.cloister-';

/** Gives the names on the way, outermost first. Throws `file_refused`. */
export const parsePath = (path: string): readonly string[] => {
  const problem = pathProblem(path);
  if (problem !== undefined) throw new CloisterError('file_refused', problem);
  return path.split('/');
};

/** Why a path is refused; undefined when it is not. */
export const pathProblem = (path: string): string | undefined => {
  if (path === '') return 'The path is empty.';
  if (path.startsWith('/')) return 'The path begins with a slash; it must be relative.';
  // The size comes first, so that nothing below works on an unbounded text.
  if (path.length > pathBytesMax || utf8Bytes(path) > pathBytesMax)
    return `The path is longer than ${pathBytesMax} bytes.`;
  const segments = path.split('/');
  if (segments.length > segmentsMax) return `The path has more than ${segmentsMax} parts.`;
  for (const [index, segment] of segments.entries()) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return `Part ${index + 1} of the path, ${quoted(segment)}, ${problem}.`;
  }
  return undefined;
};

const segmentProblem = (segment: string): string | undefined => {
  if (segment === '') return 'is empty';
  if (segment === '.' || segment === '..') return 'does not name anything below';
  if (hidden.test(segment)) return 'has a control, direction, zero-width or broken character';
  if (segment.includes('\\')) return 'has a backslash';
  if (segment.normalize('NFC') !== segment) return 'is not in Unicode NFC form';
  if (hasLookalike(segment)) return 'has a character that looks like a dot or a slash';
  if (unclear.test(segment)) return 'is only dots, or begins or ends with white space';
  if (utf8Bytes(segment) > segmentBytesMax) return `is longer than ${segmentBytesMax} bytes`;
  if (segment.startsWith(reservedPrefix) || segment.startsWith('.ai-agent'))
    return 'begins as the names that the runtime keeps for itself';
  return undefined;
};

/** Controls, bidi and other format characters, lone surrogates, line separators, and whatever is drawn as nothing. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const unclear = /^\s|\s$|^\.+$/u;
/** Slashes and backslashes that no normal form turns into the plain ones. */
const slashLike = /[\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9]/u;

const hasLookalike = (segment: string): boolean =>
  slashLike.test(segment) || [...segment].some((char) => char > '\u007f' && /[./\\]/u.test(char.normalize('NFKC')));

/** A name as it may be shown in a refusal: short, and with nothing hidden in it. */
export const quoted = (name: string): string => {
  const chars = [...name];
  const shown = chars.slice(0, quotedCharsMax).map((char) => (hidden.test(char) ? escaped(char) : char));
  return `"${shown.join('')}${chars.length > quotedCharsMax ? '…' : ''}"`;
};

const escaped = (char: string): string => `\\u{${char.codePointAt(0)!.toString(16)}}`;

/** Throws `name_invalid` unless both may become the name of a folder. */
export const checkNames = (run: RunId, cell: CellId): void => {
  if (!isName(run)) throw new CloisterError('name_invalid', `The run ${quoted(run)} cannot name a folder.`);
  if (!isName(cell)) throw new CloisterError('name_invalid', `The cell ${quoted(cell)} cannot name a folder.`);
};
