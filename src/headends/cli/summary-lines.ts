// The summary of a run's usage, as a tree. A cell's line includes its children's figures; the line below has its own.
import type { CellReport, Figures, RunReport, Spent, Traffic } from '#contracts';
import { figureLines } from './figure-lines.ts';
import { count, duration, money, compactNumber } from './format-numbers.ts';
import type { Printer } from './output.ts';
import { fittingColumns, tableLines } from './table.ts';
import type { Column } from './table.ts';
import { inTreeOrder, rowText } from './tree.ts';

/** The report must be sanitized. */
export const summaryLines = (
  report: RunReport,
  printer: Pick<Printer, 'paint' | 'columns'>,
  verbose = false,
): readonly string[] => {
  const { paint, columns } = printer;
  const rows = summaryRows(report);
  const shown = rows.slice(0, rowsMax);
  const texts = [...shown, ...totalRows(report)].map((row) => summaryColumns.map((column) => column.value(row)));
  const kept = fittingColumns(summaryColumns, texts, columns);
  const [heading = '', ...lines] = tableLines(
    kept.map((index) => summaryColumns[index]!),
    texts.map((row) => kept.map((index) => row[index] ?? '')),
    columns,
  );
  return [
    paint('bold', 'Summary'),
    paint('dim', heading),
    ...lines.slice(0, shown.length),
    ...(rows.length > shown.length ? [paint('dim', `… ${count(rows.length - shown.length)} more lines`)] : []),
    ...lines.slice(shown.length).map((line) => paint('bold', line)),
    ...failedLines(report),
    ...uncertainLines(report.spent),
    ...(verbose ? ['', ...figureLines(report, printer)] : []),
  ];
};

/** A run may have thousands of cells; rows left out are included in the figures of the cells above them. */
const rowsMax = 60;

type SummaryRow = {
  readonly name: string;
  readonly status: string;
  readonly figures: Figures;
  readonly spent: Spent;
  /** Null on a line of own figures: the line above has the time. */
  readonly ms: number | null;
};

/** A spawn counts once, as the agent that was started. */
const spawnCalls = ({ byTool }: Figures): number => {
  const { calls = 0, failed = 0 } = byTool.find(({ tool }) => tool === 'spawn_agent') ?? {};
  return calls - failed;
};

type SummaryColumn = Column & { value(row: SummaryRow): string };

const summaryColumns: readonly SummaryColumn[] = [
  { title: 'agent', shrinksTo: 10, value: ({ name }) => name },
  { title: 'status', dropOrder: 7, value: ({ status }) => status },
  { title: 'requests', align: 'right', dropOrder: 3, value: ({ figures }) => compactNumber(figures.requests.calls) },
  {
    title: 'tools',
    align: 'right',
    dropOrder: 2,
    value: ({ figures }) => compactNumber(figures.tools.calls + figures.agents.calls - spawnCalls(figures)),
  },
  { title: 'in', align: 'right', dropOrder: 5, value: ({ spent }) => compactNumber(spent.inputTokens) },
  { title: 'out', align: 'right', dropOrder: 6, value: ({ spent }) => compactNumber(spent.outputTokens) },
  {
    title: 'cache r/w',
    align: 'right',
    dropOrder: 1,
    value: ({ spent }) => `${compactNumber(spent.cacheReadTokens)}/${compactNumber(spent.cacheWriteTokens)}`,
  },
  { title: 'cost', align: 'right', value: ({ spent }) => money(spent.usd) },
  { title: 'time', align: 'right', dropOrder: 4, value: ({ ms }) => (ms === null ? '' : duration(ms)) },
];

const summaryRows = (report: RunReport): readonly SummaryRow[] => {
  const parents = new Set(report.cells.map(({ parent }) => parent));
  return inTreeOrder(report.cells).flatMap(({ cell, branch }) => [
    totalRow(cell, `${branch}${rowText(cell.agent)}`, report),
    ...(parents.has(cell.cell) ? [ownRow(cell, branch)] : []),
  ]);
};

const totalRow = ({ status, figures, spent }: CellReport, name: string, report: RunReport): SummaryRow => ({
  name,
  status: status ?? (report.status === 'running' ? 'running' : 'interrupted'),
  figures: figures.total,
  spent,
  ms: spent.ms,
});

/** The row between a parent and its children. */
const ownRow = ({ figures, own }: CellReport, branch: string): SummaryRow => ({
  name: `${branch.replace(/├─$/u, '│ ').replace(/└─$/u, '  ')}│ own`,
  status: '',
  figures: figures.own,
  spent: own,
  ms: null,
});

const totalRows = (report: RunReport): readonly SummaryRow[] => {
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
    : [`uncertain: ${count(uncertain)} tokens from requests that never reported usage; they count against the budget`];
