// The FIN summary: what a run took, as a tree. A cell's line includes its children's figures; the line below has its own.
import type { CellReport, Figures, RunReport, Spent, Traffic } from '#contracts';
import { figureLines } from './figure-lines.ts';
import { count, duration, money, compactNumber } from './format-numbers.ts';
import type { Page } from './output.ts';
import { fittingColumns, tableLines } from './table.ts';
import type { Column } from './table.ts';
import { inTreeOrder, rowText } from './tree.ts';

/** The report must be harmless. */
export const summaryLines = (
  report: RunReport,
  page: Pick<Page, 'paint' | 'columns'>,
  verbose = false,
): readonly string[] => {
  const { paint, columns } = page;
  const rows = finRows(report);
  const shown = rows.slice(0, rowsMax);
  const texts = [...shown, ...totalRows(report)].map((row) => finColumns.map((column) => column.value(row)));
  const kept = fittingColumns(finColumns, texts, columns);
  const [heading = '', ...lines] = tableLines(
    kept.map((index) => finColumns[index]!),
    texts.map((row) => kept.map((index) => row[index] ?? '')),
    columns,
  );
  return [
    paint('bold', 'FIN'),
    paint('dim', heading),
    ...lines.slice(0, shown.length),
    ...(rows.length > shown.length ? [paint('dim', `… ${count(rows.length - shown.length)} more lines`)] : []),
    ...lines.slice(shown.length).map((line) => paint('bold', line)),
    ...failedLines(report),
    ...uncertainLines(report.spent),
    ...(verbose ? ['', ...figureLines(report, page)] : []),
  ];
};

/** A run may have thousands of cells; what is left out is in the lines of the cells above it. */
const rowsMax = 60;

type FinRow = {
  readonly name: string;
  readonly status: string;
  readonly figures: Figures;
  readonly spent: Spent;
  /** Null on a line of own figures: the time is that of the line above. */
  readonly ms: number | null;
};

type FinColumn = Column & { value(row: FinRow): string };

const finColumns: readonly FinColumn[] = [
  { title: 'agent', shrinksTo: 10, value: ({ name }) => name },
  { title: 'status', goes: 7, value: ({ status }) => status },
  { title: 'requests', align: 'right', goes: 3, value: ({ figures }) => compactNumber(figures.requests.calls) },
  {
    title: 'tools',
    align: 'right',
    goes: 2,
    value: ({ figures }) => compactNumber(figures.tools.calls + figures.agents.calls),
  },
  { title: 'in', align: 'right', goes: 5, value: ({ spent }) => compactNumber(spent.inputTokens) },
  { title: 'out', align: 'right', goes: 6, value: ({ spent }) => compactNumber(spent.outputTokens) },
  {
    title: 'cache r/w',
    align: 'right',
    goes: 1,
    value: ({ spent }) => `${compactNumber(spent.cacheReadTokens)}/${compactNumber(spent.cacheWriteTokens)}`,
  },
  { title: 'cost', align: 'right', value: ({ spent }) => money(spent.usd) },
  { title: 'time', align: 'right', goes: 4, value: ({ ms }) => (ms === null ? '' : duration(ms)) },
];

const finRows = (report: RunReport): readonly FinRow[] => {
  const parents = new Set(report.cells.map(({ parent }) => parent));
  return inTreeOrder(report.cells).flatMap(({ cell, branch }) => [
    totalRow(cell, `${branch}${rowText(cell.agent)}`, report),
    ...(parents.has(cell.cell) ? [ownRow(cell, branch)] : []),
  ]);
};

const totalRow = ({ status, figures, spent }: CellReport, name: string, report: RunReport): FinRow => ({
  name,
  status: status ?? (report.status === 'running' ? 'running' : 'interrupted'),
  figures: figures.total,
  spent,
  ms: spent.ms,
});

/** Between a parent and its children. */
const ownRow = ({ figures, own }: CellReport, branch: string): FinRow => ({
  name: `${branch.replace(/├─$/u, '│ ').replace(/└─$/u, '  ')}│ own`,
  status: '',
  figures: figures.own,
  spent: own,
  ms: null,
});

const totalRows = (report: RunReport): readonly FinRow[] => {
  const root = report.cells.find(({ parent }) => parent === null);
  return root === undefined ? [] : [totalRow(root, 'total', report)];
};

const failedLines = ({ cells }: RunReport): readonly string[] => {
  const total = cells.find(({ parent }) => parent === null)?.figures.total;
  const words = (what: string, traffic: Traffic | undefined): readonly string[] =>
    traffic === undefined || traffic.failed === 0
      ? []
      : [`${count(traffic.failed)} of ${count(traffic.calls)} ${what}`];
  const failed = [
    ...words('requests', total?.requests),
    ...words('tool calls', total?.tools),
    ...words('agents', total?.agents),
  ];
  return failed.length === 0 ? [] : [`failed: ${failed.join(', ')}`];
};

const uncertainLines = ({ uncertain }: Spent): readonly string[] =>
  uncertain === 0
    ? []
    : [`uncertain: ${count(uncertain)} tokens of attempts that never told what they used; the budget counts them`];
