// Cells as a tree, one line each, fitted to the terminal.
import type { CellId } from '#base';
import type { CellReport, RunReport } from '#contracts';
import { compactNumber, formatDuration, money } from '#headends/run-view';
import type { Paint, Style } from './output.ts';
import { truncateColumns, sanitizeLine, padEnd, padStart, width } from './sanitize-text.ts';

export type TreeRow = {
  readonly state: State;
  /** The lines that connect it to its parent. */
  readonly branch: string;
  readonly name: string;
  readonly activity: string;
  readonly turns: number;
  readonly tools: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd: number | null;
  readonly ms: number;
};

type State = RunReport['status'];

/** A heading and a line per row, none wider than `columns`. */
export const treeLines = (rows: readonly TreeRow[], columns: number, paint: Paint): readonly string[] => {
  const figures = columns >= wideFrom ? allFigures : allFigures.slice(-1);
  const figuresWidth = figures.reduce((sum, { columns: one }) => sum + one + 1, 0);
  const nameMax = Math.max(8, columns - figuresWidth - doingMin - 3);
  const nameWidth = Math.min(
    nameMax,
    rows.reduce((most, row) => Math.max(most, width(row.branch) + width(row.name)), 4),
  );
  const doingWidth = Math.max(0, columns - figuresWidth - nameWidth - 3);

  const titles = figures.map((figure) => padStart(figure.title, figure.columns)).join(' ');
  const heading = `  ${padEnd('cell', nameWidth)} ${padEnd('', doingWidth)} ${titles}`;
  const line = (row: TreeRow): string => {
    const [sign, style] = marks[row.state];
    const name = padEnd(`${row.branch}${row.name}`, nameWidth);
    const values = figures.map((figure) => padStart(figure.value(row), figure.columns)).join(' ');
    const rest = truncateColumns(` ${padEnd(row.activity, doingWidth)} ${values}`, columns - nameWidth - 2);
    return `${paint(style, sign)} ${paint('bold', name)}${paint('dim', rest)}`;
  };
  return [paint('dim', truncateColumns(heading, columns)), ...rows.map(line)];
};

/** The state of a cell as one sign. */
export const stateMark = (state: State): string => marks[state][0];

/** The state of a cell in a report. */
export const cellState = ({ status }: CellReport, report: RunReport): State =>
  status ?? (report.status === 'running' || report.status === 'waiting' ? report.status : 'interrupted');

/** Parents before their children, with the lines that connect them. */
export const inTreeOrder = <T>(
  roots: readonly T[],
  childrenOf: (node: T) => readonly T[],
): readonly { readonly node: T; readonly branch: string }[] => {
  const ordered: { node: T; branch: string }[] = [];
  const walk = (nodes: readonly T[], stem: string): void => {
    for (const [index, node] of nodes.entries()) {
      const isLast = index === nodes.length - 1;
      ordered.push({ node, branch: `${stem}${isLast ? '└─' : '├─'}` });
      walk(childrenOf(node), `${stem}${isLast ? '  ' : '│ '}`);
    }
  };
  for (const node of roots) {
    ordered.push({ node, branch: '' });
    walk(childrenOf(node), '');
  }
  return ordered;
};

/** The cells of a run in tree order. `cells` are in order of creation. */
export const cellsInTreeOrder = <T extends { readonly cell: CellId; readonly parent: CellId | null }>(
  cells: readonly T[],
): readonly { readonly node: T; readonly branch: string }[] => {
  const known = new Set(cells.map(({ cell }) => cell));
  const children = Map.groupBy(cells, ({ parent }) => (parent !== null && known.has(parent) ? parent : null));
  return inTreeOrder(children.get(null) ?? [], ({ cell }) => children.get(cell) ?? []);
};

/** Keeps at most `rowsMax` rows, in order: the root first, then running ones, then the newest. `hidden` counts the others. */
export const pickRows = (rows: readonly TreeRow[], rowsMax: number): { rows: readonly TreeRow[]; hidden: number } => {
  if (rows.length <= rowsMax) return { rows, hidden: 0 };
  const rank = (row: TreeRow, index: number): number => {
    if (index === 0) return -Infinity;
    return row.state === 'running' ? index - rows.length * 2 : rows.length - index;
  };
  const kept = rows
    .map((row, index) => ({ index, rank: rank(row, index) }))
    .sort((one, other) => one.rank - other.rank)
    .slice(0, Math.max(1, rowsMax))
    .map(({ index }) => index)
    .sort((one, other) => one - other);
  return { rows: kept.flatMap((index) => rows[index] ?? []), hidden: rows.length - kept.length };
};

/** A name or activity, sanitized and bounded for one row. */
export const rowText = (text: string): string => sanitizeLine(text.slice(0, 200));

const wideFrom = 60;
const doingMin = 9;

const marks: Readonly<Record<State, readonly [sign: string, style: Style]>> = {
  running: ['●', 'cyan'],
  completed: ['✓', 'green'],
  partial: ['◐', 'yellow'],
  waiting: ['?', 'yellow'],
  interrupted: ['◌', 'yellow'],
  failed: ['✗', 'red'],
  cancelled: ['✗', 'yellow'],
  limit: ['✗', 'red'],
  budget: ['✗', 'red'],
  timeout: ['✗', 'red'],
};

type Figure = { readonly title: string; readonly columns: number; value(row: TreeRow): string };

const allFigures: readonly Figure[] = [
  { title: 'turns', columns: 5, value: (row) => compactNumber(row.turns) },
  { title: 'tools', columns: 5, value: (row) => compactNumber(row.tools) },
  {
    title: 'in/out',
    columns: 11,
    value: (row) => `${compactNumber(row.inputTokens)}/${compactNumber(row.outputTokens)}`,
  },
  { title: 'cost', columns: 8, value: (row) => money(row.usd) },
  { title: 'time', columns: 7, value: (row) => formatDuration(row.ms) },
];
