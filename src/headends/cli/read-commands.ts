// `runs`, `show` and `audit`: what the workspace knows of runs.
import type { CellReport, Cloister, RunReport, RunSummary } from '#contracts';
import { auditLines, refusalLines } from './audit-lines.ts';
import { newBoard, noteEvent } from './board.ts';
import type { Desk } from './desk.ts';
import { errorLines, failureValue } from './error-value.ts';
import { eventLine } from './event-line.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { figureLines } from './figure-lines.ts';
import { cacheWords, count, dateTime, duration, money } from './figures.ts';
import type { Page } from './output.ts';
import type { Request } from './parse-args.ts';
import { resolveRun } from './resolve-name.ts';
import { tableLines } from './table.ts';
import { cleanCopy, excerpt, oneLine } from './text.ts';
import { inTreeOrder, mark, rowText, treeLines } from './tree.ts';

type RequestOf<C extends Request['command']> = Extract<Request, { readonly command: C }>;

export const openToRead = async (workspace: string, { world }: Desk): Promise<Cloister> =>
  world.open({ workspace, agents: [], demo: false, readonly: true });

export const runsCommand = async (request: RequestOf<'runs'>, desk: Desk): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, desk);
  const runs = await cloister.runs();
  if (request.json) desk.output.json(runs);
  else desk.output.out.print(...runsLines(cleanCopy(runs), request.workspace, desk.output.out));
  return exitCode.completed;
};

export const showCommand = async (request: RequestOf<'show' | 'audit'>, desk: Desk): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, desk);
  const report = await cloister.show(await resolveRun(cloister, request.run));
  if (request.json) desk.output.json(report);
  else desk.output.out.print(...showLines(cleanCopy(report), request.verbose, desk.output.out));
  return exitCode.completed;
};

export const auditCommand = async (request: RequestOf<'show' | 'audit'>, desk: Desk): Promise<ExitCode> => {
  const { output } = desk;
  await using cloister = await openToRead(request.workspace, desk);
  const run = await resolveRun(cloister, request.run);
  const report = await cloister.audit(run);
  if (request.json) output.json(report);
  else {
    const events = await eventsOf(cloister, run);
    output.out.print(...auditLines(cleanCopy(report), cleanCopy(events), output.out.paint));
  }
  return report.ok ? exitCode.completed : exitCode.config;
};

/** A damaged run may not be shown, but its audit still has to be told. */
const eventsOf = async (cloister: Cloister, run: string): Promise<RunReport['events']> => {
  try {
    return (await cloister.show(run)).events;
  } catch {
    return [];
  }
};

const runsLines = (runs: readonly RunSummary[], workspace: string, { paint, columns }: Page): readonly string[] => {
  if (runs.length === 0)
    return [
      `There are no runs in ${oneLine(workspace)} yet.`,
      'Start one with `cloister demo` or `cloister run <agent> "<input>"`.',
    ];
  const rows = runs.map((run) => [
    run.run,
    rowText(run.agent),
    runState(run),
    count(run.cells),
    dateTime(run.startedAt),
    excerpt(run.goal, 60),
  ]);
  const [heading = '', ...lines] = tableLines(
    [
      { title: 'run' },
      { title: 'agent', shrinksTo: 8 },
      { title: 'state' },
      { title: 'cells', align: 'right' },
      { title: 'started' },
      { title: 'goal', shrinksTo: 8 },
    ],
    rows,
    columns,
  );
  return [paint('dim', heading), ...lines];
};

const runState = ({ state, status }: RunSummary): string => {
  const shown = state === 'ended' ? (status ?? 'interrupted') : state;
  return `${mark(shown)} ${shown}`;
};

const showLines = (report: RunReport, verbose: boolean, page: Page): readonly string[] => {
  const { paint, columns } = page;
  const { spent } = report;
  const root = report.cells.find(({ parent }) => parent === null);
  const refused = refusalLines(report.events, paint);
  const failure = root?.outcome?.failure ?? null;
  return [
    `${paint('bold', `run ${report.run}`)}  ${mark(report.status)} ${report.status}`,
    `agent    ${oneLine(report.agent)}`,
    `goal     ${excerpt(report.goal, columns - 9)}`,
    `started  ${dateTime(report.startedAt)}${report.endedAt === null ? '' : `, took ${duration(report.endedAt - report.startedAt)}`}`,
    `spent    ${count(spent.inputTokens)} in${cacheWords(spent)}, ${count(spent.outputTokens)} out, ${money(spent.usd)}${
      spent.uncertain === 0 ? '' : `, ${count(spent.uncertain)} tokens uncertain`
    }`,
    '',
    ...treeLines(reportRows(report), columns, paint),
    ...(refused.length === 0 ? [] : ['', paint('bold', 'Refused:'), ...refused]),
    ...(verbose ? ['', ...figureLines(report, page), '', paint('bold', 'Events:'), ...verboseLines(report)] : []),
    ...(report.output === '' ? [] : ['', paint('bold', 'Answer:'), report.output.trimEnd()]),
    ...(failure === null ? [] : ['', ...errorLines(failureValue(failure))]),
  ];
};

const reportRows = (report: RunReport) =>
  inTreeOrder(report.cells).map(({ cell, branch }) => {
    const state = cell.status ?? (report.status === 'running' ? ('running' as const) : ('interrupted' as const));
    return {
      state,
      branch,
      name: cellName(cell),
      doing: state,
      turns: cell.turns,
      tools: cell.own.steps,
      inputTokens: cell.own.inputTokens,
      outputTokens: cell.own.outputTokens,
      usd: cell.own.usd,
      ms: cell.spent.ms,
    };
  });

/** The id, which people type, and the agent unless the id begins with it. */
const cellName = ({ cell, agent }: CellReport): string => (cell.startsWith(agent) ? cell : `${cell} ${rowText(agent)}`);

const verboseLines = (report: RunReport): readonly string[] => {
  const board = newBoard();
  return report.events.flatMap((event) => {
    noteEvent(board, event);
    return eventLine(event, board, true) ?? [];
  });
};
