// The summary of a run's usage, as a tree: a cell's line includes its children's figures, the line below has its own. With
// --verbose also each model with its tokens and cost, and the traffic of every model, tool and sub-agent.
import type { CellReport, Figures, ModelFigures, RunReport, Spent, Traffic } from '#contracts';
import { compactNumber, count, formatDuration, money } from './format.ts';
import type { Screen } from './output.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';
import { cellsInTreeOrder, rowText } from './tree.ts';

/** The report must be sanitized. */
export const summaryLines = (report: RunReport, printer: Screen, verbose = false): readonly string[] => {
  const { paint } = printer;
  const rows = summaryRows(report);
  const shown = rows.slice(0, rowsMax);
  const [heading = '', ...lines] = tableLines(summaryColumns, [...shown, ...totalRows(report)], printer);
  return [
    paint('bold', 'Summary'),
    heading,
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

const summaryColumns: readonly Column<SummaryRow>[] = [
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
  { title: 'time', align: 'right', dropOrder: 4, value: ({ ms }) => (ms === null ? '' : formatDuration(ms)) },
];

const summaryRows = (report: RunReport): readonly SummaryRow[] => {
  const parents = new Set(report.cells.map(({ parent }) => parent));
  return cellsInTreeOrder(report.cells).flatMap(({ node: cell, branch }) => [
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
export const figureLines = (report: RunReport, screen: Screen): readonly string[] => {
  const root = report.cells.find(({ parent }) => parent === null);
  const traffic = cellsInTreeOrder(report.cells).flatMap(({ node: cell, branch }) =>
    trafficRows(`${branch}${rowText(cell.agent)}`, cell.figures.own),
  );
  const table = <Row>(title: string, columns: readonly Column<Row>[], rows: readonly Row[]): readonly string[] =>
    rows.length === 0 ? [] : [screen.paint('bold', title), ...tableLines(columns, rows, screen)];
  return [
    ...table('Models', modelColumns, root?.figures.total.byModel ?? []),
    '',
    ...table('Traffic per agent (own calls only)', trafficColumns, traffic),
  ];
};

const modelColumns: readonly Column<ModelFigures>[] = [
  { title: 'model', shrinksTo: 10, value: ({ model }) => rowText(model) },
  { title: 'requests', align: 'right', value: ({ calls }) => compactNumber(calls) },
  { title: 'failed', align: 'right', value: ({ failed }) => compactNumber(failed) },
  { title: 'in', align: 'right', value: ({ inputTokens }) => compactNumber(inputTokens) },
  { title: 'out', align: 'right', value: ({ outputTokens }) => compactNumber(outputTokens) },
  {
    title: 'cache r/w',
    align: 'right',
    value: ({ cacheReadTokens, cacheWriteTokens }) =>
      `${compactNumber(cacheReadTokens)}/${compactNumber(cacheWriteTokens)}`,
  },
  { title: 'cost', align: 'right', value: ({ usd }) => money(usd) },
  { title: 'latency', align: 'right', value: ({ ms }) => formatDuration(ms) },
];

type TrafficRow = Traffic & { readonly agent: string; readonly target: string };

const trafficColumns: readonly Column<TrafficRow>[] = [
  { title: 'agent', shrinksTo: 8, value: ({ agent }) => agent },
  { title: 'target', shrinksTo: 8, value: ({ target }) => rowText(target) },
  { title: 'calls', align: 'right', value: ({ calls }) => compactNumber(calls) },
  { title: 'failed', align: 'right', value: ({ failed }) => compactNumber(failed) },
  {
    title: 'bytes in/out',
    align: 'right',
    value: ({ bytesIn, bytesOut }) => `${compactNumber(bytesIn)}/${compactNumber(bytesOut)}`,
  },
  {
    title: 'chars in/out',
    align: 'right',
    value: ({ charsIn, charsOut }) => `${compactNumber(charsIn)}/${compactNumber(charsOut)}`,
  },
  { title: 'latency', align: 'right', value: ({ ms }) => formatDuration(ms) },
];

/** The agent's name appears on its first row only. */
const trafficRows = (agent: string, { byModel, byTool, byAgent }: Figures): readonly TrafficRow[] =>
  [
    ...byModel.map((figures) => ({ ...figures, target: figures.model })),
    ...byTool.map((figures) => ({ ...figures, target: figures.tool })),
    ...byAgent.map((figures) => ({ ...figures, target: `child:${figures.tool}` })),
  ].map((row, index) => ({ ...row, agent: index === 0 ? agent : '' }));
