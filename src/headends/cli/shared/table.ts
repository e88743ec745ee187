// Rows and columns that fit the terminal.
import { truncateColumns, padEnd, padStart, width } from './sanitize-text.ts';

export type Column = {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** May be cut to this width if the table is too wide; the last such column is cut first. */
  readonly shrinksTo?: number;
  /** May be dropped if there is no room; the lowest number is dropped first. */
  readonly dropOrder?: number;
};

/** The indexes of the columns that fit, in order. */
export const fittingColumns = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): readonly number[] => {
  const natural = naturalWidths(columns, rows);
  const least = columns.map(({ shrinksTo }, index) => Math.min(natural[index] ?? 0, shrinksTo ?? Infinity));
  const droppable = [...columns.keys()]
    .filter((index) => columns[index]?.dropOrder !== undefined)
    .sort((one, other) => (columns[one]?.dropOrder ?? 0) - (columns[other]?.dropOrder ?? 0));
  let kept = [...columns.keys()];
  for (const index of droppable) {
    if (
      total(
        kept.map((one) => least[one] ?? 0),
        1,
      ) <= widthMax
    )
      break;
    kept = kept.filter((one) => one !== index);
  }
  return kept;
};

/** The heading, then a line per row. Cells must be sanitized, one line each. */
export const tableLines = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): readonly string[] => {
  const natural = naturalWidths(columns, rows);
  const gap = total(natural, 2) <= widthMax ? '  ' : ' ';
  const widths = fit(columns, natural, widthMax - gap.length * (columns.length - 1));
  const line = (cells: readonly string[]): string => {
    const fields = columns.map(({ align }, index) =>
      (align === 'right' ? padStart : padEnd)(cells[index] ?? '', widths[index] ?? 0),
    );
    return truncateColumns(fields.join(gap).trimEnd(), widthMax);
  };
  return [line(columns.map(({ title }) => title)), ...rows.map(line)];
};

const naturalWidths = (columns: readonly Column[], rows: readonly (readonly string[])[]): readonly number[] =>
  columns.map(({ title }, index) => rows.reduce((most, row) => Math.max(most, width(row[index] ?? '')), width(title)));

const total = (widths: readonly number[], gap: number): number =>
  widths.reduce((sum, one) => sum + one, (widths.length - 1) * gap);

const fit = (columns: readonly Column[], natural: readonly number[], room: number): readonly number[] => {
  const widths = [...natural];
  let excess = total(natural, 0) - room;
  for (const [index, { shrinksTo }] of [...columns.entries()].toReversed()) {
    const wanted = widths[index] ?? 0;
    if (excess <= 0 || shrinksTo === undefined || wanted <= shrinksTo) continue;
    widths[index] = Math.max(shrinksTo, wanted - excess);
    excess -= wanted - widths[index];
  }
  return widths;
};
