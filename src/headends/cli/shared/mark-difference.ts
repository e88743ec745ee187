// Two texts on one line each, cut so that the first difference is visible, and marked.
import type { Paint } from './output.ts';
import { truncateColumns, escapeInvisible, width } from './sanitize-text.ts';

const beforeChars = 24;
const markedMin = 8;

/** Each in at most `columns` columns. Invisible characters are escaped as in JSON, so that different texts never look alike. */
export const markDifference = (
  one: string,
  other: string,
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): readonly [one: string, other: string] => {
  const end = Math.min(one.length, other.length);
  let from = 0;
  while (from < end && one[from] === other[from]) from++;
  let alike = 0;
  while (alike < end - from && one.at(-1 - alike) === other.at(-1 - alike)) alike++;
  const line = (text: string): string => marked(text, { from, to: text.length - alike }, columns, paint);
  return [line(one), line(other)];
};

type Span = { readonly from: number; readonly to: number };

const marked = (text: string, { from, to }: Span, columns: number, paint: Paint): string => {
  const start = Math.max(0, from - beforeChars);
  const before = truncateColumns(
    `${start > 0 ? '…' : ''}${escapeInvisible(text.slice(start, from))}`,
    Math.max(0, columns - markedMin),
  );
  const room = columns - width(before) - 2;
  const middle = truncateColumns(escapeInvisible(text.slice(from, Math.min(to, from + columns))), room);
  const after = truncateColumns(escapeInvisible(text.slice(to, to + columns)), Math.max(0, room - width(middle)));
  return `${before}${paint('inverse', `«${middle}»`)}${after}`;
};
