// The summary of a run's usage, as a tree: a cell's line includes its children's figures, the line below has its own. With
// --verbose also each model with its tokens and cost, and the traffic of every model, tool and sub-agent.
import type { CellReport, Figures, ModelFigures, RunReport, Spent, Traffic } from '#contracts';
import { compactNumber, count, formatDuration, money } from '#headends/run-view';
import { waitedText } from './format.ts';
import type { Screen } from './output.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';
import { wrapText } from './sanitize-text.ts';
import { cellsInTreeOrder, cellState, inTreeOrder, rowText } from './tree.ts';

/** The report must be sanitized. */
export const summaryLines = (report: RunReport, printer: Screen, verbose = false): readonly string[] => {
  const { paint } = printer;
  const rows = summaryRows(report, verbose);
  const shown = rows.slice(0, rowsMax);
  const [heading = '', ...lines] = tableLines(summaryColumns, [...shown, ...totalRows(report)], printer);
  return [
    paint('bold', 'Summary'),
    heading,
    ...lines.slice(0, shown.length),
    ...(rows.length > shown.length ? [paint('dim', `… ${count(rows.length - shown.length)} more lines`)] : []),
    ...lines.slice(shown.length).map((line) => paint('bold', line)),
    ...[...failedLines(report), ...uncertainLines(report.spent), ...unpricedLines(report)].flatMap((line) =>
      wrapText('', line, printer.columns, 2),
    ),
    ...(verbose ? ['', ...figureLines(report, printer)] : []),
  ];
};

/** A run may have thousands of cells; rows left out are included in the figures of the cells above them. */
const rowsMax = 60;

type SummaryRow = {
  readonly name: string;
  readonly status: string;
  readonly requests: number;
  readonly tools: number;
  readonly spent: readonly Spent[];
  /** Empty on a line of own figures: the line above has the time. */
  readonly time: string;
};

/** A spawn counts once, as the agent that was started. */
const spawnCalls = ({ byTool }: Figures): number => {
  const { calls = 0, failed = 0 } = byTool.find(({ tool }) => tool === 'spawn_agent') ?? {};
  return calls - failed;
};

const summaryColumns: readonly Column<SummaryRow>[] = [
  { title: 'agent', shrinksTo: 10, value: ({ name }) => name },
  { title: 'status', dropOrder: 7, value: ({ status }) => status },
  { title: 'requests', align: 'right', dropOrder: 3, value: ({ requests }) => compactNumber(requests) },
  {
    title: 'tools',
    align: 'right',
    dropOrder: 2,
    value: ({ tools }) => compactNumber(tools),
  },
  {
    title: 'in',
    align: 'right',
    dropOrder: 5,
    value: ({ spent }) => compactNumber(sum(spent, (one) => one.inputTokens)),
  },
  {
    title: 'out',
    align: 'right',
    dropOrder: 6,
    value: ({ spent }) => compactNumber(sum(spent, (one) => one.outputTokens)),
  },
  {
    title: 'cache r/w',
    align: 'right',
    dropOrder: 1,
    value: ({ spent }) =>
      `${compactNumber(sum(spent, (one) => one.cacheReadTokens))}/${compactNumber(sum(spent, (one) => one.cacheWriteTokens))}`,
  },
  { title: 'cost', align: 'right', value: ({ spent }) => money(totalUsd(spent)) },
  { title: 'time', align: 'right', dropOrder: 4, value: ({ time }) => time },
];

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);

const totalUsd = (spent: readonly Spent[]): number | null =>
  spent.some(({ usd }) => usd === null) ? null : sum(spent, ({ usd }) => usd ?? 0);

/** Siblings of one agent that ended alike share a line from this many on, except with --verbose. */
const foldedFrom = 3;

/** Cells that share a line. */
type CellGroup = readonly CellReport[];

const summaryRows = (report: RunReport, verbose: boolean): readonly SummaryRow[] => {
  const known = new Set(report.cells.map(({ cell }) => cell));
  const children = Map.groupBy(report.cells, ({ parent }) => (parent !== null && known.has(parent) ? parent : null));
  const below = (group: CellGroup): readonly CellGroup[] =>
    foldCells(
      group.flatMap(({ cell }) => children.get(cell) ?? []),
      verbose,
    );
  return inTreeOrder(foldCells(children.get(null) ?? [], verbose), below).flatMap(({ node: group, branch }) => [
    totalRow(group, `${branch}${groupName(group)}`, report),
    ...(below(group).length > 0 ? [ownRow(group, branch)] : []),
  ]);
};

const foldCells = (cells: readonly CellReport[], verbose: boolean): readonly CellGroup[] => {
  const keyOf = ({ agent, status }: CellReport): string => JSON.stringify([agent, status]);
  const alike = Map.groupBy(cells, keyOf);
  return cells.flatMap((cell): readonly CellGroup[] => {
    const group = alike.get(keyOf(cell)) ?? [];
    if (verbose || group.length < foldedFrom) return [[cell]];
    return group[0] === cell ? [group] : [];
  });
};

const groupName = (group: CellGroup): string =>
  `${rowText(group[0]?.agent ?? '')}${group.length === 1 ? '' : ` ×${group.length}`}`;

const totalRow = (group: CellGroup, name: string, report: RunReport): SummaryRow => {
  const times = group.map(({ spent }) => spent.ms);
  const [least, most] = [formatDuration(Math.min(...times)), formatDuration(Math.max(...times))];
  const waitedMs = Math.max(...group.map((cell) => cell.waitedMs));
  return {
    name,
    status: cellState(group[0]!, report),
    ...callsOf(group.map(({ figures }) => figures.total)),
    spent: group.map(({ spent }) => spent),
    time: `${least === most ? least : `${least} – ${most}`}${waitedText(waitedMs)}`,
  };
};

/** The row between a parent and its children. */
const ownRow = (group: CellGroup, branch: string): SummaryRow => ({
  name: `${branch.replace(/├─$/u, '│ ').replace(/└─$/u, '  ')}│ own`,
  status: '',
  ...callsOf(group.map(({ figures }) => figures.own)),
  spent: group.map(({ own }) => own),
  time: '',
});

const callsOf = (figures: readonly Figures[]): Pick<SummaryRow, 'requests' | 'tools'> => ({
  requests: sum(figures, ({ requests }) => requests.calls),
  tools: sum(figures, (one) => one.tools.calls + one.agents.calls - spawnCalls(one)),
});

const totalRows = (report: RunReport): readonly SummaryRow[] => {
  const root = report.cells.find(({ parent }) => parent === null);
  return root === undefined ? [] : [totalRow([root], 'total', report)];
};

/** What makes the cost unknown, and how to change that. */
const unpricedLines = ({ cells, spent }: RunReport): readonly string[] => {
  if (spent.usd !== null) return [];
  const models = cells.find(({ parent }) => parent === null)?.figures.total.byModel ?? [];
  const unpriced = models.filter(({ usd }) => usd === null).map(({ model }) => rowText(model));
  return unpriced.length === 0
    ? []
    : [
        `cost unknown: no price for ${unpriced.join(', ')}; set "price" under "models" of its provider in .ai-agent.json (docs/PROVIDERS.md)`,
      ];
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
