// The summary of a run's usage, as a tree: a cell's line includes its children's figures, the line below has its own. With
// --verbose also each model with its tokens and cost, and the traffic of every model, tool and sub-agent.
import type { CellReport, Figures, ModelFigures, RunReport, Spent, Traffic } from '#contracts';
import { compactNumber, count, duration, money } from './format-numbers.ts';
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

/** The report must be sanitized. */
export const figureLines = (
  report: RunReport,
  { paint, columns }: Pick<Printer, 'paint' | 'columns'>,
): readonly string[] => {
  const root = report.cells.find(({ parent }) => parent === null);
  const models = (root?.figures.total.byModel ?? []).map(modelRow);
  const traffic = inTreeOrder(report.cells).flatMap(({ cell, branch }) =>
    trafficRows(`${branch}${rowText(cell.agent)}`, cell.figures.own),
  );
  const table = (title: string, of: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] => {
    const [heading = '', ...lines] = tableLines(of, rows, columns);
    return rows.length === 0 ? [] : [paint('bold', title), paint('dim', heading), ...lines];
  };
  return [
    ...table('Models', modelColumns, models),
    '',
    ...table('Traffic per agent (own calls only)', trafficColumns, traffic),
  ];
};

const modelColumns: readonly Column[] = [
  { title: 'model', shrinksTo: 10 },
  { title: 'requests', align: 'right' },
  { title: 'failed', align: 'right' },
  { title: 'in', align: 'right' },
  { title: 'out', align: 'right' },
  { title: 'cache r/w', align: 'right' },
  { title: 'cost', align: 'right' },
  { title: 'latency', align: 'right' },
];

const modelRow = (figures: ModelFigures): readonly string[] => [
  rowText(figures.model),
  compactNumber(figures.calls),
  compactNumber(figures.failed),
  compactNumber(figures.inputTokens),
  compactNumber(figures.outputTokens),
  `${compactNumber(figures.cacheReadTokens)}/${compactNumber(figures.cacheWriteTokens)}`,
  money(figures.usd),
  duration(figures.ms),
];

const trafficColumns: readonly Column[] = [
  { title: 'agent', shrinksTo: 8 },
  { title: 'target', shrinksTo: 8 },
  { title: 'calls', align: 'right' },
  { title: 'failed', align: 'right' },
  { title: 'bytes in/out', align: 'right' },
  { title: 'chars in/out', align: 'right' },
  { title: 'latency', align: 'right' },
];

/** The agent's name appears on its first row only. */
const trafficRows = (agent: string, { byModel, byTool, byAgent }: Figures): readonly (readonly string[])[] =>
  [
    ...byModel.map((figures) => trafficRow(figures.model, figures)),
    ...byTool.map((figures) => trafficRow(figures.tool, figures)),
    ...byAgent.map((figures) => trafficRow(`child:${figures.tool}`, figures)),
  ].map((row, index) => [index === 0 ? agent : '', ...row]);

const trafficRow = (name: string, traffic: Traffic): readonly string[] => [
  rowText(name),
  compactNumber(traffic.calls),
  compactNumber(traffic.failed),
  `${compactNumber(traffic.bytesIn)}/${compactNumber(traffic.bytesOut)}`,
  `${compactNumber(traffic.charsIn)}/${compactNumber(traffic.charsOut)}`,
  duration(traffic.ms),
];
