// Emphasis, code and links within a line, and the layout of words in lines.
import type { Paint, Style } from './output.ts';
import { width } from './sanitize-text.ts';

/** Text with the styles it is painted in. */
export type Span = { readonly text: string; readonly styles: readonly Style[] };

/** What is written before the first line and before the others, and how wide a line may be, including these. */
export type Margins = {
  readonly first: string;
  readonly rest: string;
  readonly columns: number;
  /** Also breaks words that are wider than a line. */
  readonly breaksWords: boolean;
};

/** Deeper emphasis is shown as it is written: the text is read once for each level. */
const depthMax = 4;

export const inlineSpans = (text: string, styles: readonly Style[] = [], depth = 0): readonly Span[] => {
  if (depth === depthMax) return [{ text, styles }];
  const spans: Span[] = [];
  const unclosed = new Set<string>();
  let plain = '';
  const flush = (): void => {
    if (plain !== '') spans.push({ text: plain, styles });
    plain = '';
  };
  let at = 0;
  while (at < text.length) {
    const found = specials.has(text[at]!) ? readSpecial(text, at, unclosed) : null;
    if (found === null) {
      plain += text[at]!;
      at++;
      continue;
    }
    at = found.end;
    if (found.literal !== undefined) {
      plain += found.literal;
      continue;
    }
    flush();
    const added = [...styles, ...found.styles];
    if (found.inner !== undefined) spans.push(...inlineSpans(found.inner, added, depth + 1));
    if (found.text !== undefined) spans.push({ text: found.text, styles: added });
    if (found.note !== undefined) spans.push({ text: found.note, styles: [...styles, 'dim'] });
  }
  flush();
  return spans;
};

type Special = {
  readonly end: number;
  readonly styles: readonly Style[];
  /** Text as it is, text that may hold more marks, unpainted text, and what follows in another style. */
  readonly text?: string;
  readonly inner?: string;
  readonly literal?: string;
  readonly note?: string;
};

const specials = new Set('\\`*_~[!<');

/** `unclosed`: marks that are known to have no end from here on, so that each is sought only once. */
const readSpecial = (text: string, at: number, unclosed: Set<string>): Special | null => {
  switch (text[at]) {
    case '\\':
      return /[!-/:-@[-`{-~]/u.test(text[at + 1] ?? '') ? { end: at + 2, styles: [], literal: text[at + 1]! } : null;
    case '`':
      return readCode(text, at, unclosed);
    case '[':
    case '!':
      return readLink(text, at);
    case '<':
      return readAutolink(text, at);
    default:
      return readEmphasis(text, at, unclosed);
  }
};

/** How many times the character at this place is repeated. */
const runLength = (text: string, at: number): number => {
  let end = at + 1;
  while (text[end] === text[at]) end++;
  return end - at;
};

const readCode = (text: string, at: number, unclosed: Set<string>): Special | null => {
  const length = runLength(text, at);
  const mark = '`'.repeat(length);
  // The rest of a run that is not closed is no beginning of a shorter one.
  const literal = { end: at + length, styles: [], literal: mark };
  if (unclosed.has(mark) || length > 8) return literal;
  for (let end = text.indexOf(mark, at + length); end !== -1; end = text.indexOf(mark, end)) {
    const run = runLength(text, end);
    if (run === length) {
      const code = text.slice(at + length, end);
      return { end: end + length, styles: ['cyan'], text: /^ .*\S.* $/u.test(code) ? code.slice(1, -1) : code };
    }
    end += run;
  }
  unclosed.add(mark);
  return literal;
};

const emphasisStyles: Readonly<Record<string, readonly Style[]>> = {
  '***': ['bold', 'italic'],
  '**': ['bold'],
  '*': ['italic'],
  ___: ['bold', 'italic'],
  __: ['bold'],
  _: ['italic'],
  '~~': ['strikethrough'],
};

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character);
const isSpace = (character: string | undefined): boolean => character === undefined || /\s/u.test(character);

const readEmphasis = (text: string, at: number, unclosed: Set<string>): Special | null => {
  const length = runLength(text, at);
  const mark = text.slice(at, at + length);
  const literal = { end: at + length, styles: [], literal: mark };
  const styles = emphasisStyles[mark];
  const canOpen = !isSpace(text[at + length]) && !(mark[0] === '_' && isWord(text[at - 1]));
  if (styles === undefined || !canOpen || unclosed.has(mark)) return literal;
  for (let end = text.indexOf(mark, at + length); end !== -1; end = text.indexOf(mark, end)) {
    const run = runLength(text, end);
    const canClose = !isSpace(text[end - 1]) && text[end - 1] !== '\\' && !(mark[0] === '_' && isWord(text[end + run]));
    // A longer run closes what is nested, too: `**a *b***`.
    if (canClose && (run === length || (run === 3 && length < 3)))
      return { end: end + run, styles, inner: text.slice(at + length, end + run - length) };
    end += run;
  }
  unclosed.add(mark);
  return literal;
};

const linkTextMax = 400;
const linkTargetMax = 2000;

const readLink = (text: string, at: number): Special | null => {
  const isImage = text[at] === '!';
  const open = isImage ? at + 1 : at;
  if (text[open] !== '[') return null;
  const close = text.slice(open, open + linkTextMax).indexOf('](');
  if (close <= 0) return null;
  const label = text.slice(open + 1, open + close);
  if (label.includes('[') || (label.includes(']') && !isImage)) return null;
  const target = /^(?<url>[^\s()]*(?:\([^\s()]*\)[^\s()]*)?)(?:\s+"[^"]*")?\)/u.exec(
    text.slice(open + close + 2, open + close + 2 + linkTargetMax),
  );
  if (target === null) return null;
  const end = open + close + 2 + target[0].length;
  const url = target.groups!['url']!;
  if (isImage) return { end, styles: [], text: label === '' ? 'image' : label, note: ` (${url})` };
  if (label === url || label === '') return { end, styles: ['underline'], text: url };
  return { end, styles: ['underline'], inner: label, note: ` (${url})` };
};

const readAutolink = (text: string, at: number): Special | null => {
  const [all, url] = /^<(https?:\/\/[^\s<>]{1,2000})>/u.exec(text.slice(at, at + linkTargetMax)) ?? [];
  return all === undefined ? null : { end: at + all.length, styles: ['underline'], text: url! };
};

/** Columns of the text. */
export const spansWidth = (spans: readonly Span[]): number => spans.reduce((sum, { text }) => sum + width(text), 0);

export const paintSpans = (spans: readonly Span[], paint: Paint): string =>
  spans.map(({ text, styles }) => styles.reduce((painted, style) => paint(style, painted), text)).join('');

/** A part of a line that is not broken, and the space before it. */
type Word = { space: string; readonly parts: Span[]; columns: number };

/** The text in lines of at most `columns` columns. The margins are not part of the lines. */
export const layout = (spans: readonly Span[], margins: Margins): readonly (readonly Span[])[] => {
  const lines: Span[][] = [];
  let line: Span[] = [];
  let used = 0;
  let room = roomOf(margins, margins.first);
  const restRoom = roomOf(margins, margins.rest);
  const put = ({ parts, columns }: Word, space: string): void => {
    if (space !== '')
      line.push({ text: space, styles: line.at(-1)?.styles === parts[0]?.styles ? line.at(-1)!.styles : [] });
    line.push(...parts);
    used += space.length + columns;
  };
  const startLine = (): void => {
    lines.push(joined(line));
    line = [];
    used = 0;
    room = restRoom;
  };
  for (const word of wordsOf(spans)) {
    const space = line.length === 0 && lines.length > 0 ? '' : word.space;
    if (line.length > 0 && used + space.length + word.columns > room) startLine();
    const isFirst = line.length === 0;
    const pieces = margins.breaksWords && word.columns > room ? brokenWord(word, Math.min(room, restRoom)) : [word];
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) startLine();
      put(piece, index > 0 || (isFirst && lines.length > 0) ? '' : space.slice(0, Math.max(0, room - piece.columns)));
    }
  }
  if (line.length > 0 || lines.length === 0) lines.push(joined(line));
  return lines;
};

const roomOf = ({ columns }: Margins, margin: string): number => Math.max(1, columns - width(margin));

/** Neighbours in the same style as one. */
const joined = (parts: readonly Span[]): Span[] => {
  const all: Span[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last !== undefined && last.styles === part.styles)
      all[all.length - 1] = { ...last, text: last.text + part.text };
    else all.push(part);
  }
  return all;
};

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });
/** Marks that may not begin a line. */
const closing = /^[、。，．：；？！）」』】〉》〕…ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々]/u;

/** Lines are broken at spaces, and between wide characters, which need none. */
const wordsOf = (spans: readonly Span[]): readonly Word[] => {
  const words: Word[] = [];
  let open: Word | null = null;
  let space = '';
  const add = (text: string, styles: readonly Style[], joins: boolean): void => {
    const columns = width(text);
    if (open !== null && joins) {
      open.parts.push({ text, styles });
      open.columns += columns;
      return;
    }
    open = { space, parts: [{ text, styles }], columns };
    space = '';
    words.push(open);
  };
  for (const { text, styles } of spans)
    for (const [token] of text.matchAll(/[ \t]+|[^ \t]+/gu)) {
      if (/^[ \t]/u.test(token)) {
        space += token;
        open = null;
      } else if (/^[^\u1100-\u{10FFFF}]*$/u.test(token)) add(token, styles, true);
      else {
        let wasWide = false;
        for (const { segment } of graphemes.segment(token)) {
          const isWide = /^[\p{Ideographic}\u3000-\u30FF\uAC00-\uD7A3\uFF00-\uFF60]/u.test(segment);
          add(segment, styles, closing.test(segment) || !(isWide || wasWide));
          wasWide = isWide;
        }
      }
    }
  return words;
};

/** Pieces of at most `columns` columns. */
const brokenWord = ({ space, parts }: Word, columns: number): readonly Word[] => {
  const pieces: Word[] = [{ space, parts: [], columns: 0 }];
  for (const { text, styles } of parts)
    for (const { segment } of graphemes.segment(text)) {
      const one = width(segment);
      if (pieces.at(-1)!.columns + one > columns && pieces.at(-1)!.columns > 0)
        pieces.push({ space: '', parts: [], columns: 0 });
      const piece = pieces.at(-1)!;
      const last = piece.parts.at(-1);
      if (last?.styles === styles) piece.parts[piece.parts.length - 1] = { text: last.text + segment, styles };
      else piece.parts.push({ text: segment, styles });
      piece.columns += one;
    }
  return pieces;
};
