// One run for people: its cells, what it took, how far it got, its answer.
import type { CellReport, RunReport, TaskReport } from '#contracts';
import { refusalLines } from './audit-lines.ts';
import { newBoard, noteEvent } from './run-progress.ts';
import { errorLines, cliFailureJson } from './error-value.ts';
import { eventLine } from './event-line.ts';
import { figureLines } from './figure-lines.ts';
import { cacheWords, count, dateTime, duration, money, plural } from './format-numbers.ts';
import { operationLines, listOperations } from './operations.ts';
import type { OperationView } from './operations.ts';
import type { Page } from './output.ts';
import { cloisterCommand } from './cloister-command.ts';
import type { Common } from './request.ts';
import { resultLines, taskLines } from './task-lines.ts';
import { excerpt, sanitizeLine } from './sanitize-text.ts';
import { inTreeOrder, stateMark, rowText, treeLines } from './tree.ts';
import type { TreeRow } from './tree.ts';

/** With the tasks of a team. */
export type RunDetails = { readonly report: RunReport; readonly tasks: readonly TaskReport[] };

/** They must be harmless. */
export const showLines = (
  { report, tasks: given }: RunDetails,
  { verbose, workspace }: Common,
  page: Page,
): readonly string[] => {
  const { paint, columns } = page;
  const { spent } = report;
  const root = report.cells.find(({ parent }) => parent === null);
  const refused = refusalLines(report.events, paint);
  const failure = root?.outcome?.failure ?? null;
  const operations = listOperations(report.events);
  const tasks = [
    ...taskLines(given, page, verbose ? Infinity : undefined),
    ...(verbose ? resultLines(given, page) : []),
  ];
  return [
    `${paint('bold', `run ${report.run}`)}  ${stateMark(report.status)} ${report.status}`,
    `agent    ${sanitizeLine(report.agent)}`,
    `goal     ${excerpt(report.goal, columns - 9)}`,
    ...(report.caller === null ? [] : [`asked by ${excerpt(report.caller, columns - 9)}`]),
    `started  ${dateTime(report.startedAt)}${report.endedAt === null ? '' : `, took ${duration(report.endedAt - report.startedAt)}`}`,
    ...(report.endedAt === null ? [`reached  ${reachedWords(report, operations)}`] : []),
    `spent    ${count(spent.inputTokens)} in${cacheWords(spent)}, ${count(spent.outputTokens)} out, ${money(spent.usd)}${
      spent.uncertain === 0 ? '' : `, ${count(spent.uncertain)} tokens uncertain`
    }`,
    '',
    ...treeLines(reportRows(report), columns, paint),
    ...(tasks.length === 0 ? [] : ['', ...tasks]),
    ...(report.status === 'interrupted' ? ['', ...interruptedLines(report, workspace, page)] : []),
    ...(refused.length === 0 ? [] : ['', paint('bold', 'Refused:'), ...refused]),
    ...(verbose ? ['', ...figureLines(report, page)] : []),
    ...(verbose ? ['', paint('bold', 'Operations, for `fork --at`'), ...operationLines(operations, page)] : []),
    ...(verbose ? ['', paint('bold', 'Events:'), ...eventLines(report)] : []),
    ...(report.output === '' ? [] : ['', paint('bold', 'Answer:'), report.output.trimEnd()]),
    ...(failure === null ? [] : ['', ...errorLines(cliFailureJson(failure))]),
  ];
};

/** How far a run without an end has got. */
const reachedWords = ({ events, startedAt }: RunReport, operations: readonly OperationView[]): string => {
  const open = operations.filter(({ isOpen }) => isOpen).length;
  const settled = plural(operations.length - open, 'operation');
  return `${dateTime(events.at(-1)?.at ?? startedAt)}: ${settled} settled, ${count(open)} under way`;
};

const openMax = 20;

const interruptedLines = ({ run, events }: RunReport, workspace: string, page: Page): readonly string[] => {
  const open = listOperations(events).filter(({ isOpen }) => isOpen);
  return [
    page.paint('yellow', `It was interrupted${open.length === 0 ? '.' : ' with this under way:'}`),
    ...operationLines(open.slice(0, openMax), page),
    ...(open.length > openMax ? [`… ${count(open.length - openMax)} more`] : []),
    'Go on with it:',
    `  ${cloisterCommand(`resume ${run}`, workspace)}`,
  ];
};

const reportRows = (report: RunReport): readonly TreeRow[] =>
  inTreeOrder(report.cells).map(({ cell, branch }) => ({
    state: cell.status ?? (report.status === 'running' ? 'running' : 'interrupted'),
    branch,
    name: cellName(cell),
    doing: cell.status ?? (report.status === 'running' ? 'running' : 'no end'),
    turns: cell.turns,
    tools: cell.own.steps,
    inputTokens: cell.own.inputTokens,
    outputTokens: cell.own.outputTokens,
    usd: cell.own.usd,
    ms: cell.spent.ms,
  }));

/** The id, which people type, and the agent unless the id begins with it. */
const cellName = ({ cell, agent }: CellReport): string => (cell.startsWith(agent) ? cell : `${cell} ${rowText(agent)}`);

const eventLines = (report: RunReport): readonly string[] => {
  const board = newBoard();
  return report.events.flatMap((event) => {
    noteEvent(board, event);
    return eventLine(event, board, true) ?? [];
  });
};
