// Rows and columns that fit the terminal.
import type { Screen } from './output.ts';
import { truncateColumns, padEnd, padStart, width } from './sanitize-text.ts';

/** `value`: the text of a row in this column, sanitized, on one line. */
export type Column<Row> = {
  readonly title: string;
  value(row: Row): string;
  readonly align?: 'left' | 'right';
  /** May be cut to this width if the table is too wide; the last such column is cut first. */
  readonly shrinksTo?: number;
  /** May be dropped if there is no room; the lowest number is dropped first. */
  readonly dropOrder?: number;
};

/** A dim heading, then a line per row. */
export const tableLines = <Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  { paint, columns: widthMax }: Screen,
): readonly string[] => {
  const texts = rows.map((row) => all.map((column) => column.value(row)));
  const kept = fittingColumns(all, texts, widthMax);
  const columns = kept.map((index) => all[index]!);
  const cells = texts.map((row) => kept.map((index) => row[index] ?? ''));
  const natural = naturalWidths(columns, cells);
  const gap = total(natural, 2) <= widthMax ? '  ' : ' ';
  const widths = fit(columns, natural, widthMax - gap.length * (columns.length - 1));
  const line = (fields: readonly string[]): string => {
    const padded = columns.map(({ align }, index) =>
      (align === 'right' ? padStart : padEnd)(fields[index] ?? '', widths[index] ?? 0),
    );
    return truncateColumns(padded.join(gap).trimEnd(), widthMax);
  };
  return [paint('dim', line(columns.map(({ title }) => title))), ...cells.map(line)];
};

type ColumnShape = Omit<Column<never>, 'value'>;

/** The indexes of the columns that fit, in order. */
const fittingColumns = (
  columns: readonly ColumnShape[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): readonly number[] => {
  const natural = naturalWidths(columns, rows);
  const least = columns.map(({ shrinksTo }, index) => Math.min(natural[index] ?? 0, shrinksTo ?? Infinity));
  const droppable = [...columns.keys()]
    .filter((index) => columns[index]?.dropOrder !== undefined)
    .sort((one, other) => (columns[one]?.dropOrder ?? 0) - (columns[other]?.dropOrder ?? 0));
  let kept = [...columns.keys()];
  const leastTotal = (): number =>
    total(
      kept.map((index) => least[index] ?? 0),
      1,
    );
  for (const index of droppable) {
    if (leastTotal() <= widthMax) break;
    kept = kept.filter((one) => one !== index);
  }
  return kept;
};

const naturalWidths = (columns: readonly ColumnShape[], rows: readonly (readonly string[])[]): readonly number[] =>
  columns.map(({ title }, index) => rows.reduce((most, row) => Math.max(most, width(row[index] ?? '')), width(title)));

const total = (widths: readonly number[], gap: number): number =>
  widths.reduce((sum, one) => sum + one, (widths.length - 1) * gap);

const fit = (columns: readonly ColumnShape[], natural: readonly number[], room: number): readonly number[] => {
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
