// Rows and columns that fit the terminal.
import { truncateColumns, padEnd, padStart, width } from './sanitize-text.ts';

export type Column = {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** May be cut down to this many columns when the table is too wide; the last such column gives way first. */
  readonly shrinksTo?: number;
  /** May be left out when there is no room; the lowest number goes first. */
  readonly goes?: number;
};

/** The indexes of the columns that there is room for, in their order. */
export const fittingColumns = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): readonly number[] => {
  const natural = naturalWidths(columns, rows);
  const least = columns.map(({ shrinksTo }, index) => Math.min(natural[index] ?? 0, shrinksTo ?? Infinity));
  const leaving = [...columns.keys()]
    .filter((index) => columns[index]?.goes !== undefined)
    .sort((one, other) => (columns[one]?.goes ?? 0) - (columns[other]?.goes ?? 0));
  let kept = [...columns.keys()];
  for (const index of leaving) {
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

/** The heading, then a line per row. Cells must be harmless, one line each. */
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
