// Where a long text continues in the next message.
//
//   split-boundaries. Between paragraphs, else lines, else words. A word is split only if it alone exceeds a message.
//   split-nothing-lost. Between two messages only white space is left out, and lines that close a code block which the first message
//       has closed already.
import { closeFence, closesFence, endOfLine, fenceAt, fenceCharsMax, openFence, reopenFence } from './code-fence.ts';
import { characterBoundary } from './slack-text.ts';

/** A part of the text, without white space at its ends. */
type TextPart = { readonly from: number; readonly to: number };

/** Where the next message begins after one that ends at `end`. */
export const nextStart = (text: string, end: number): number => {
  const start = skipSpace(text, end);
  const fence = fenceAt(text, end);
  if (fence === undefined) return start;
  const lineEnd = endOfLine(text, start);
  return start > end && closesFence(text.slice(start, lineEnd), fence) ? skipSpace(text, lineEnd) : start;
};

/** Keeps the indent of the first line. */
const skipSpace = (text: string, from: number): number => {
  const space = /^[ \n]*/u.exec(text.slice(from))![0];
  const isAtLine = from === 0 || text[from - 1] === '\n';
  const line = space.lastIndexOf('\n') + 1;
  if (from + space.length === text.length) return text.length;
  return from + (line > 0 || isAtLine ? line : space.length);
};

/** Without the white space before `end`. */
export const trimmedEnd = (text: string, end: number): number => {
  let at = end;
  while (at > 0 && (text[at - 1] === ' ' || text[at - 1] === '\n')) at--;
  return at;
};

/**
 * Where a message that begins at `from` ends: at `end`, if so much fits. `shown`: how far it shows the text already.
 */
export const chooseEnd = (text: string, part: TextPart & { readonly shown: number }, charsMax: number): number => {
  const { from, to, shown } = part;
  const max = from + charsMax - fenceCharsMax;
  if (to <= max) return to;
  const middle = Math.max(shown, from + Math.floor((max - from) / 2));
  return (
    lastBreak(text, middle, max, 'paragraph') ??
    lastBreak(text, middle, max, 'line') ??
    lastBreak(text, middle, max, 'word') ??
    lastBreak(text, Math.max(shown, from + 1), max, 'word') ??
    (shown > from ? shown : splitWord(text, from, max))
  );
};

const breaks = { paragraph: '\n\n', line: '\n', word: ' ' } as const;

/** The end of the last paragraph, line or word that ends between `min` and `max`. */
const lastBreak = (text: string, min: number, max: number, kind: keyof typeof breaks): number | undefined => {
  for (let at = max; at >= min; at--) {
    at = kind === 'word' ? lastSpace(text, at) : text.lastIndexOf(breaks[kind], at);
    const end = trimmedEnd(text, at);
    if (end < min) return undefined;
    if (mayEnd(text, end, kind)) return end;
    at = end;
  }
  return undefined;
};

const lastSpace = (text: string, at: number): number => Math.max(text.lastIndexOf(' ', at), text.lastIndexOf('\n', at));

/** Not after or inside a line that begins a code block, which would be empty; as a paragraph not inside such a block. */
const mayEnd = (text: string, end: number, kind: keyof typeof breaks): boolean => {
  if (kind === 'paragraph') return fenceAt(text, end) === undefined;
  const start = text.lastIndexOf('\n', end - 1) + 1;
  return openFence(text.slice(start, endOfLine(text, start))) === undefined || closesBlock(text, start);
};

const closesBlock = (text: string, start: number): boolean => start > 0 && fenceAt(text, start - 1) !== undefined;

const splitWord = (text: string, from: number, max: number): number => {
  const end = characterBoundary(text, max);
  // One character that exceeds a message.
  return end > from ? end : max;
};

/** What the message shows. */
export const showPart = (text: string, { from, to }: TextPart): string =>
  from === to ? '' : reopenFence(fenceAt(text, from - 1)) + text.slice(from, to) + closeFence(fenceAt(text, to));

/** What a message that shows the text up to `shown` needs to show it up to `to`. */
export const addedText = (text: string, { from, to, shown }: TextPart & { readonly shown: number }): string =>
  shown > from ? text.slice(shown, to) : reopenFence(fenceAt(text, from - 1)) + text.slice(from, to);

/** How much of a text that grows can be sent: not a line that begins a code block without the first line of code. */
export const sendableEnd = (text: string, complete: number): number => {
  const end = trimmedEnd(text, complete);
  const start = text.lastIndexOf('\n', end - 1) + 1;
  if (openFence(text.slice(start, end)) === undefined || closesBlock(text, start)) return end;
  return trimmedEnd(text, start);
};
