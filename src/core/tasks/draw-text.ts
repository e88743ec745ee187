// Prepares untrusted text for a drawing: removes forbidden characters, estimates its width, and escapes it.

/** Control characters, text direction overrides, invisible tag characters, and what XML forbids. */
const unwanted = /\p{Cc}|[\u202A-\u202E\u2066-\u2069\uFEFF\uFFFE\uFFFF\u{E0000}-\u{E007F}]/gu;

/** The text on one line, truncated to that many characters. */
export const plainText = (text: string, charsMax: number): string => {
  const isCut = text.length > charsMax;
  // Truncating must not leave half of a surrogate pair.
  const head = isCut ? text.slice(0, charsMax).replace(/[\uD800-\uDBFF]$/, '') : text;
  const line = head.toWellFormed().replace(/\s+/gu, ' ').replace(unwanted, '').trim();
  return isCut ? `${line}…` : line;
};

/** A placeholder for an empty title: a box without text would look like a mistake. */
export const titleText = (title: string, charsMax: number): string => plainText(title, charsMax) || '(no title)';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for XML, between tags or in quotes. */
export const escapeXml = (text: string): string => text.replace(/[&<>"']/gu, (sign) => entities[sign] ?? '');

/** Estimates the width for the widest common fonts, so that text that should fit does fit. */
export const textWidth = (text: string, fontSize: number): number => {
  let ems = 0;
  for (const character of text) ems += widthInEms(character);
  return ems * fontSize;
};

const narrow = /^[ijlIftr.,:;'|!()[\]{}`\-/\\ ]$/u;
const broad = /^[mwMW@%&—…]$/u;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\uFE0F]$/u;

const widthInEms = (character: string): number => {
  if (narrow.test(character)) return 0.38;
  if (/^[a-z0-9]$/u.test(character)) return broad.test(character) ? 0.92 : 0.62;
  if (broad.test(character)) return 1;
  if (/^[ -~\u00A0-\u04FF]$/u.test(character)) return 0.7;
  return zeroWidth.test(character) ? 0 : 1.05;
};

/** Breaks the text into at most that many lines, between words where possible. An ellipsis marks truncated text. */
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
      lines.push(`${rest.slice(0, fittingLength(rest, fontSize, room.width - ellipsis)).trimEnd()}…`);
      rest = '';
    } else {
      const most = fittingLength(rest, fontSize, room.width);
      const space = rest.lastIndexOf(' ', most);
      const end = space > most / 3 ? space : Math.max(1, most);
      lines.push(rest.slice(0, end).trimEnd());
      rest = rest.slice(end).trimStart();
    }
  }
  return lines as readonly string[];
};

let segmenter: Intl.Segmenter | undefined;

/** How much of the text fits, in whole graphemes. */
const fittingLength = (text: string, fontSize: number, widthMax: number): number => {
  // Creating a segmenter takes 20 ms, and most programs draw nothing.
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let used = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    used += textWidth(segment, fontSize);
    if (used > widthMax) return index;
  }
  return text.length;
};
