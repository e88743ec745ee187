// The FIN summary: per agent and in total, what a run took.
import type { CellReport, RunReport, Spent } from '#contracts';
import { count, duration, money, short } from './figures.ts';
import type { Page } from './output.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';
import { oneLine } from './text.ts';
import { mark } from './tree.ts';

/** The report must be harmless. */
export const finLines = (report: RunReport, { paint, columns }: Pick<Page, 'paint' | 'columns'>): readonly string[] => {
  const requests = Map.groupBy(report.events, (event) => (event.type === 'model-start' ? event.cell : null));
  const asked = (cells: readonly CellReport[]): number =>
    cells.reduce((sum, { cell }) => sum + (requests.get(cell)?.length ?? 0), 0);

  const rows = [...Map.groupBy(report.cells, ({ agent }) => agent)].map(([agent, cells]) =>
    figures({
      name: cells.length === 1 ? agent : `${agent} ×${cells.length}`,
      status: statusWords(cells, report),
      requests: asked(cells),
      turns: sumOf(cells, ({ turns }) => turns),
      spent: ownOf(cells),
    }),
  );
  const total = figures({
    name: 'total',
    status: report.status,
    requests: asked(report.cells),
    turns: sumOf(report.cells, ({ turns }) => turns),
    spent: report.spent,
  });
  const [heading = '', ...lines] = tableLines(finColumns, [...rows, total], columns);
  return [
    paint('bold', 'FIN'),
    paint('dim', heading),
    ...lines.slice(0, -1),
    paint('bold', lines.at(-1) ?? ''),
    ...uncertainLines(report.spent),
  ];
};

const finColumns: readonly Column[] = [
  { title: 'agent', shrinksTo: 10 },
  { title: 'status' },
  { title: 'requests', align: 'right' },
  { title: 'turns', align: 'right' },
  { title: 'in', align: 'right' },
  { title: 'out', align: 'right' },
  { title: 'cost', align: 'right' },
  { title: 'tools', align: 'right' },
  { title: 'time', align: 'right' },
];

type FinRow = {
  readonly name: string;
  readonly status: string;
  readonly requests: number;
  readonly turns: number;
  readonly spent: Spent;
};

const figures = ({ name, status, requests, turns, spent }: FinRow): readonly string[] => [
  oneLine(name),
  status,
  short(requests),
  short(turns),
  short(spent.inputTokens),
  short(spent.outputTokens),
  money(spent.usd),
  short(spent.steps),
  duration(spent.ms),
];

const uncertainLines = ({ uncertain }: Spent): readonly string[] =>
  uncertain === 0
    ? []
    : [`uncertain: ${count(uncertain)} tokens of attempts that never told what they used; the budget counts them`];

/** One cell: its status. Several: how many ended in which way. */
const statusWords = (cells: readonly CellReport[], report: RunReport): string => {
  const unended = report.status === 'running' ? 'running' : 'interrupted';
  const states = cells.map(({ status }) => status ?? unended);
  const [first = unended] = states;
  if (states.every((state) => state === first)) return first;
  return [...Map.groupBy(states, (state) => state)].map(([state, same]) => `${mark(state)}${same.length}`).join(' ');
};

/** Together what the cells used themselves; the time is that of the one that took longest. */
const ownOf = (cells: readonly CellReport[]): Spent => ({
  inputTokens: sumOf(cells, ({ own }) => own.inputTokens),
  outputTokens: sumOf(cells, ({ own }) => own.outputTokens),
  usd: cells.some(({ own }) => own.usd === null) ? null : sumOf(cells, ({ own }) => own.usd ?? 0),
  ms: cells.reduce((most, cell) => Math.max(most, cell.spent.ms), 0),
  steps: sumOf(cells, ({ own }) => own.steps),
  spawns: sumOf(cells, ({ own }) => own.spawns),
  uncertain: sumOf(cells, ({ own }) => own.uncertain),
});

const sumOf = (cells: readonly CellReport[], of: (cell: CellReport) => number): number =>
  cells.reduce((sum, cell) => sum + of(cell), 0);
