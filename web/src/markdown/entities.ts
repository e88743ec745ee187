// `&lt;` and others, by the characters that they stand for.

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u{A0}',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
  rarr: '→',
  larr: '←',
  times: '×',
  le: '≤',
  ge: '≥',
  middot: '·',
  bull: '•',
};

/** `&lt;` → `<`; what nobody knows stays. */
export const decodeEntities = (text: string): string =>
  text.includes('&')
    ? text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/giu, (whole, decimal, hex, name) => {
        if (name !== undefined) return entities[name as string] ?? whole;
        const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
        return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
      })
    : text;
