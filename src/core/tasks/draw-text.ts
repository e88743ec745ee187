// Foreign text for a drawing: without what no file of its kind may hold, measured by estimate, and escaped.

/** Controls, what turns the direction of text around, the invisible tag alphabet, and what XML forbids. */
const unwanted = /\p{Cc}|[\u202A-\u202E\u2066-\u2069\uFEFF\uFFFE\uFFFF\u{E0000}-\u{E007F}]/gu;

/** On one line, and cut when it is longer than so many characters. */
export const plainText = (text: string, charsMax: number): string => {
  const isCut = text.length > charsMax;
  // A cut may not leave half of a pair behind.
  const kept = isCut ? text.slice(0, charsMax).replace(/[\uD800-\uDBFF]$/, '') : text;
  const line = kept.toWellFormed().replace(/\s+/gu, ' ').replace(unwanted, '').trim();
  return isCut ? `${line}…` : line;
};

/** A box without words would look like a mistake. */
export const titleText = (title: string, charsMax: number): string => plainText(title, charsMax) || '(no title)';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For XML, between tags or in quotes. */
export const escapeXml = (text: string): string => text.replace(/[&<>"']/gu, (sign) => entities[sign] ?? '');

/** About as wide as the widest common fonts draw it, so that what is said to fit does. */
export const textWidth = (text: string, fontSize: number): number => {
  let ems = 0;
  for (const character of text) ems += emsOf(character);
  return ems * fontSize;
};

const narrow = /^[ijlIftr.,:;'|!()[\]{}`\-/\\ ]$/u;
const broad = /^[mwMW@%&—…]$/u;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\uFE0F]$/u;

const emsOf = (character: string): number => {
  if (narrow.test(character)) return 0.38;
  if (/^[a-z0-9]$/u.test(character)) return broad.test(character) ? 0.92 : 0.62;
  if (broad.test(character)) return 1;
  if (/^[ -~\u00A0-\u04FF]$/u.test(character)) return 0.7;
  return zeroWidth.test(character) ? 0 : 1.05;
};

/** The text on at most so many lines of that width, broken between words where it can be; an ellipsis says what is missing. */
export const fitLines = (text: string, fontSize: number, room: { readonly width: number; readonly lines: number }) => {
  const ellipsis = textWidth('…', fontSize);
  const lines: string[] = [];
  let rest = text.trim();
  while (rest !== '' && lines.length < room.lines) {
    const isLast = lines.length === room.lines - 1;
    if (textWidth(rest, fontSize) <= room.width) {
      lines.push(rest);
      rest = '';
    } else if (isLast) {
      lines.push(`${rest.slice(0, fitting(rest, fontSize, room.width - ellipsis)).trimEnd()}…`);
      rest = '';
    } else {
      const most = fitting(rest, fontSize, room.width);
      const space = rest.lastIndexOf(' ', most);
      const end = space > most / 3 ? space : Math.max(1, most);
      lines.push(rest.slice(0, end).trimEnd());
      rest = rest.slice(end).trimStart();
    }
  }
  return lines as readonly string[];
};

let segmenter: Intl.Segmenter | undefined;

/** How much of the text fits, in whole signs as people see them. */
const fitting = (text: string, fontSize: number, widthMax: number): number => {
  // To make one takes 20 ms, and most programs draw nothing.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let used = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    used += textWidth(segment, fontSize);
    if (used > widthMax) return index;
  }
  return text.length;
};
