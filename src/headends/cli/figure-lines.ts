// What --verbose adds: each model with its tokens and cost, and the traffic of every model, tool and sub-agent.
import type { Figures, ModelFigures, RunReport, Traffic } from '#contracts';
import { duration, money, compactNumber } from './format-numbers.ts';
import type { Printer } from './output.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';
import { inTreeOrder, rowText } from './tree.ts';

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
