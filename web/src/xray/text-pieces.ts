// Pieces of a text: the sentence at a place, and where a text is found.

export type Span = { readonly from: number; readonly to: number };

/** Lines of lists and code are pieces of their own, whatever is in them. */
const pieceEnd = /[.!?…](?=["”’')\]]*\s)["”’')\]]*|\n/gu;
const lead = /^[\s|>*•–-]+/u;

/** The sentence or line around a place, without the marks of a list before it; null: there is only white space. */
export const sentenceAt = (text: string, at: number): Span | null => {
  const [lineFrom, lineTo] = [text.lastIndexOf('\n', Math.max(0, at - 1)) + 1, endOfLine(text, at)];
  const line = text.slice(lineFrom, lineTo);
  let from = 0;
  for (const { index, 0: found } of line.matchAll(pieceEnd)) {
    const end = index + found.length;
    if (lineFrom + end >= at) return trimmed(line, { from, to: end }, lineFrom);
    from = end;
  }
  return trimmed(line, { from, to: line.length }, lineFrom);
};

const endOfLine = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};

const trimmed = (line: string, { from, to }: Span, offset: number): Span | null => {
  const piece = line.slice(from, to);
  const start = from + (lead.exec(piece)?.[0].length ?? 0);
  const end = from + piece.trimEnd().length;
  return end <= start ? null : { from: offset + start, to: offset + end };
};

const foundMax = 500;

/** Where `find` is in a text, capitals or not; overlapping ones once. */
export const findAll = (text: string, find: string): readonly Span[] => {
  if (find === '') return [];
  const [all, wanted] = [text.toLowerCase(), find.toLowerCase()];
  // A letter whose small form is longer would shift every place after it.
  const [where, what] = all.length === text.length ? [all, wanted] : [text, find];
  const found: Span[] = [];
  for (let at = where.indexOf(what); at >= 0 && found.length < foundMax; at = where.indexOf(what, at + what.length))
    found.push({ from: at, to: at + what.length });
  return found;
};

/** The words of a piece without marks before it, for looking it up in other texts; empty: too short to say anything. */
export const wordsOf = (piece: string): string => {
  const words = piece.replace(lead, '').trim();
  return words.length < 4 ? '' : words;
};
