// `show`: one run: its cells, usage, progress and answer; or its windows, its messages, or its transcript.
import type { CellId, RecordedBy, RunId } from '#base';
import { describeAttachment } from '#contracts';
import type { CellReport, Cloister, Outcome, QuestionReport, RunReport, TaskReport } from '#contracts';
import { applyEvent, count, dateTime, formatBytes, formatDuration, newRunView, plural } from '#headends/run-view';
import { missingAgentLines, spawnedLines } from './shared/answer.ts';
import { refusalLines } from './shared/audit-lines.ts';
import { causeLines } from './shared/cause-lines.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { describeCacheUse, describeCost, waitedText } from './shared/format.ts';
import { cliFailureJson, errorLines, exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { eventLine } from './shared/event-line.ts';
import { refuseUnwritable, writeOrExplain } from './shared/given-file.ts';
import { openGraphFile } from './shared/graph-file.ts';
import { mailLines } from './shared/mail-lines.ts';
import { continueCommand } from './shared/next-commands.ts';
import { openRunToRead, resolveCell, resolveRun } from './shared/find-and-open.ts';
import { operationLines, listOperations } from './shared/operations.ts';
import type { OperationView } from './shared/operations.ts';
import { flagOption, optionalArgument, runArgument, textOption, workspaceOption } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { waitingLines } from './shared/question-lines.ts';
import { excerpt, padEnd, sanitizeAll, sanitizeLine, width } from './shared/sanitize-text.ts';
import { figureLines } from './shared/summary-lines.ts';
import { resultLines, taskLines } from './shared/task-lines.ts';
import { cellsInTreeOrder, cellState, stateMark, rowText, treeLines } from './shared/tree.ts';
import type { TreeRow } from './shared/tree.ts';
import { transcriptLines } from './show-transcript.ts';
import { windowLines } from './show-window.ts';

export default defineCommand({
  about: 'show a run: its cells, usage and answer',
  examples: [
    'cloister show last',
    'cloister show 4f2a --verbose',
    'cloister show last --window',
    'cloister show last --mail',
    'cloister show last researcher --transcript',
    'cloister show last --html run.html',
  ],
  arguments: {
    ...runArgument,
    cell: optionalArgument('with --transcript: only this cell (an id or prefix, an agent name, or a task id)'),
  },
  options: {
    ...workspaceOption,
    graph: textOption('<file>', 'for a team: also write its task graph (.svg, .mmd or .md)'),
    window: flagOption('instead, show what fills each agent’s context window and what was dropped'),
    mail: {
      ...flagOption('instead, show every message: sender, recipient, state and time'),
      conflicts: ['window'],
    },
    transcript: {
      ...flagOption('instead, print what each model was shown (what is new in each request), said and called'),
      conflicts: ['window', 'mail', 'graph'],
    },
    html: {
      ...textOption('<file>', 'instead, write the run as one web page that needs no server, to read or to send'),
      conflicts: ['window', 'mail', 'transcript', 'graph'],
    },
    full: flagOption('with --transcript: the whole prompt of each request, and long outputs whole'),
  },
  run: async (given, context) => {
    const { runtime, files, tasks: drawings, output } = context;
    const { json, verbose, workspace } = given;
    await using cloister = await openRunToRead({ workspace, run: given.run }, runtime);
    const run = await resolveRun(cloister, given.run);
    if (given.transcript) {
      const { full } = given;
      const cell = await namedCell(cloister, run, given.cell);
      const transcript = await cloister.transcript(run, { full, ...cell });
      const questions = await cloister.questions({ run });
      output.result(json, transcript, (screen) =>
        transcriptLines(sanitizeAll(transcript), { full, workspace: sanitizeLine(workspace), questions, screen }),
      );
      return exitCode.completed;
    }
    if (given.cell !== null || given.full)
      throw new UsageError(`${given.full ? '--full' : 'a cell'} needs --transcript`, 'add --transcript');
    // Awaited here: the workspace is closed when this returns.
    if (given.html !== null) return await writePage(given.html, { cloister, run, json }, context);
    if (given.window) {
      const windows = await cloister.windows(run);
      output.result(json, windows, (printer) => windowLines(sanitizeAll(windows), verbose, printer));
      return exitCode.completed;
    }
    if (given.mail) {
      const mail = await cloister.mail(run);
      output.result(json, mail, (printer) => mailLines(sanitizeAll(mail), verbose, printer));
      return exitCode.completed;
    }
    const graph = await openGraphFile(given.graph, { files, tasks: drawings });
    const [summary] = await cloister.runs({ run });
    // Of a run that has ended, only the long forms need all events.
    const isShort = summary?.state === 'ended' && !json && !verbose && graph === null;
    const report = await cloister.show(run, { events: isShort ? 'refusals' : 'all' });
    const isPlan = report.events.some((event) => event.type === 'session-start' && event.team?.planOnly === true);
    const tasks = isPlan ? [] : await cloister.tasks(run);
    if (graph !== null && tasks.length === 0)
      throw new UsageError(`run ${run} has no tasks, so there is no graph`, 'omit --graph');
    await graph?.write(tasks);
    const questions = await cloister.questions({ run });
    const value = {
      ...report,
      ...(tasks.length === 0 ? {} : { tasks }),
      ...(questions.length === 0 ? {} : { questions }),
    };
    output.result(json, value, (printer) =>
      showLines(
        { ...sanitizeAll({ report, tasks }), questions, isLeft: summary?.state === 'interrupted' },
        { verbose, workspace },
        printer,
      ),
    );
    if (graph !== null) output.err.print(`Graph written to ${sanitizeLine(graph.path)}.`);
    return exitCode.completed;
  },
});

type PageRequest = { readonly cloister: Cloister; readonly run: RunId; readonly json: boolean };

/** Everything that is known about the run, in one file. */
const writePage = async (
  path: string,
  { cloister, run, json }: PageRequest,
  { files, output, server }: CommandContext,
): Promise<ExitCode> => {
  await refuseUnwritable(path, files, 'choose another file');
  const { html, leftOut } = await server.pageOfRun(cloister, run);
  await writeOrExplain(path, () => files.writeText(path, html), 'choose another file');
  const bytes = Buffer.byteLength(html);
  output.result(json, { run, file: path, bytes, leftOut }, () => [
    `Run ${run} written to ${sanitizeLine(path)}: ${formatBytes(bytes)}. Whoever has the file can read all of the run.`,
  ]);
  if (leftOut.length > 0)
    output.err.print(`Left out, because the file would be too long: ${sanitizeLine(leftOutText(leftOut))}.`);
  return exitCode.completed;
};

const leftOutText = (paths: readonly string[]): string => {
  const below = (start: string): number => paths.filter((path) => path.startsWith(start)).length;
  const [explained, pictures] = [below('/explain'), below('/attachments')];
  const others = paths.filter((path) => !/^\/(?:explain|attachments)/u.test(path)).map((path) => path.slice(1));
  return [
    ...(explained === 0 ? [] : [`explanations of ${plural(explained, 'cell')}`]),
    ...(pictures === 0 ? [] : [plural(pictures, 'picture')]),
    ...others,
  ].join(', ');
};

const namedCell = async (cloister: Cloister, run: RunId, name: string | null): Promise<{ readonly cell?: CellId }> =>
  name === null ? {} : { cell: resolveCell(await cloister.show(run), name, await cloister.tasks(run)) };

/** With the tasks of a team, and the questions that wait for people. */
type RunDetails = {
  readonly report: RunReport;
  readonly tasks: readonly TaskReport[];
  readonly questions: readonly QuestionReport[];
  /** It has not ended, and nobody owns it. */
  readonly isLeft: boolean;
};

/** The report and the tasks must be sanitized. */
const showLines = (
  { report, tasks: given, questions, isLeft }: RunDetails,
  { verbose, workspace }: { readonly verbose: boolean; readonly workspace: string },
  printer: Screen,
): readonly string[] => {
  const { paint, columns } = printer;
  const { spent } = report;
  const root = report.cells.find(({ parent }) => parent === null);
  const refused = refusalLines(report.events, paint);
  const outcome = root?.outcome ?? null;
  const failure = outcome?.failure ?? null;
  const operations = listOperations(report.events);
  const tasks = [
    ...taskLines(given, printer, verbose ? Infinity : undefined),
    ...(verbose ? resultLines(given, printer) : []),
  ];
  return [
    `${paint('bold', `run ${report.run}`)}  ${stateMark(report.status)} ${report.status}`,
    `agent    ${sanitizeLine(report.agent)}`,
    `goal     ${excerpt(report.goal, columns - 9)}`,
    ...report.attachments.map((one) => `attached ${excerpt(describeAttachment(one), columns - 9)}`),
    ...(report.caller === null ? [] : [`caller   ${excerpt(report.caller, columns - 9)}`]),
    `started  ${dateTime(report.startedAt)}${report.endedAt === null ? '' : `, took ${describeTime(report, root)}`}`,
    ...(report.recordedBy === null ? [] : [`build    ${describeBuild(report.recordedBy, report.continuedBy)}`]),
    ...(report.endedAt === null ? [`reached  ${describeReached(report, operations)}`] : []),
    `spent    ${plural(spent.inputTokens, 'token')} in${describeCacheUse(spent)}, ${count(spent.outputTokens)} out, ${describeCost(spent.usd)}${
      spent.uncertain === 0 ? '' : `, ${count(spent.uncertain)} tokens uncertain`
    }`,
    '',
    ...treeLines(reportRows(report), columns, paint),
    ...(tasks.length === 0 ? [] : ['', ...tasks]),
    ...passedOverLines(report, printer),
    ...withBlankBefore(causeLines(report.causes, { run: report.run, workspace, verbose }, printer)),
    ...stallLines(report, printer),
    ...withBlankBefore(openLines({ report, tasks: given, questions, isLeft }, workspace, printer)),
    ...(refused.length === 0 ? [] : ['', paint('bold', 'Refused:'), ...refused]),
    ...(verbose ? ['', ...figureLines(report, printer)] : []),
    ...(verbose ? ['', paint('bold', 'Operations (for `fork --at`):'), ...operationLines(operations, printer)] : []),
    ...(verbose ? ['', paint('bold', 'Events:'), ...eventLines(report)] : []),
    ...(report.output === '' ? [] : ['', paint('bold', 'Answer:'), report.output.trimEnd()]),
    ...(root?.outcome == null || given.length > 0 ? [] : leftLines(root.outcome)),
    ...(failure === null ? [] : ['', ...errorLines(cliFailureJson(failure))]),
  ];
};

/** What an unfinished run waits for, and how it continues. */
const openLines = (
  { report, questions, isLeft }: RunDetails,
  workspace: string,
  printer: Screen,
): readonly string[] => {
  if (questions.length > 0)
    return [
      ...waitingLines({ run: report.run, questions }, workspace, printer),
      ...(isLeft
        ? ['Or continue it here; at a terminal, you are asked:', `  ${continueCommand(report, workspace)}`]
        : []),
    ];
  return isLeft ? interruptedLines(report, workspace, printer) : [];
};

const withBlankBefore = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : ['', ...lines]);

/** What the answer lacks. For a team, the list of its tasks says so. */
const leftLines = (outcome: Outcome): readonly string[] => {
  const missing = missingAgentLines(outcome);
  return [...(missing.length === 0 ? [] : ['', ...missing]), ...spawnedLines(outcome)];
};

/** Its working time, and how long it waited for people. */
const describeTime = ({ spent }: RunReport, root: CellReport | undefined): string =>
  `${formatDuration(spent.ms)}${waitedText(root?.waitedMs ?? 0)}`;

const describeBuild = ({ build, format }: RecordedBy, continuedBy: readonly string[]): string =>
  `${build}, format ${format}${continuedBy.length === 0 ? '' : `; continued by ${continuedBy.join(', ')}`}`;

/** How far an unfinished run has got. */
const describeReached = ({ events, startedAt }: RunReport, operations: readonly OperationView[]): string => {
  const open = operations.filter(({ isOpen }) => isOpen).length;
  const settled = plural(operations.length - open, 'operation');
  return `${dateTime(events.at(-1)?.at ?? startedAt)}: ${settled} settled, ${count(open)} in flight`;
};

const openMax = 20;

const interruptedLines = (report: RunReport, workspace: string, printer: Screen): readonly string[] => {
  const open = listOperations(report.events).filter(({ isOpen }) => isOpen);
  return [
    printer.paint(
      'yellow',
      `The run was interrupted${open.length === 0 ? '.' : ` with ${plural(open.length, 'operation')} in flight:`}`,
    ),
    ...operationLines(open.slice(0, openMax), printer),
    ...(open.length > openMax ? [`… ${count(open.length - openMax)} more`] : []),
    'Continue it with:',
    `  ${continueCommand(report, workspace)}`,
  ];
};

const reportRows = (report: RunReport): readonly TreeRow[] =>
  cellsInTreeOrder(report.cells).map(({ node: cell, branch }) => ({
    state: cellState(cell, report),
    branch,
    name: cellName(cell),
    activity: `${describeCell(cell, report)}${waitedText(cell.waitedMs)}`,
    turns: cell.turns,
    tools: cell.own.steps,
    inputTokens: cell.own.inputTokens,
    outputTokens: cell.own.outputTokens,
    usd: cell.own.usd,
    ms: cell.spent.ms,
  }));

const describeCell = (cell: CellReport, report: RunReport): string => {
  const state = cellState(cell, report);
  return state === 'interrupted' ? 'unfinished' : state;
};

const passedOverLines = ({ events, cells }: RunReport, { paint }: Screen): readonly string[] => {
  const lines = events.flatMap((event) => {
    const cell = event.type === 'session-start' && event.passedOver !== undefined ? event.cell : undefined;
    const named = cells.find((one) => one.cell === cell);
    return event.type !== 'session-start' || named === undefined
      ? []
      : [[cellName(named), (event.passedOver ?? []).map((model) => sanitizeLine(model)).join(', ')] as const];
  });
  return cellList(paint('bold', 'Models passed over, because they had no API key:'), lines);
};

/** The cells whose work held up everything else in the process. */
const stallLines = ({ cells }: RunReport, { paint }: Screen): readonly string[] => {
  const lines = cells.flatMap((cell) =>
    cell.stalls.count === 0
      ? []
      : [
          [
            cellName(cell),
            `${plural(cell.stalls.count, 'time')} above 100 ms, ${formatDuration(cell.stalls.longestMs)} at most`,
          ] as const,
        ],
  );
  return cellList(paint('bold', 'Blocked the process:'), lines);
};

/** A heading, then for each cell its name and one fact, aligned. */
const cellList = (heading: string, cells: readonly (readonly [name: string, fact: string])[]): readonly string[] => {
  const columns = Math.max(...cells.map(([name]) => width(name)));
  return cells.length === 0 ? [] : ['', heading, ...cells.map(([name, fact]) => `${padEnd(name, columns)}  ${fact}`)];
};

/** The id, which users type, and the agent unless the id starts with it. */
const cellName = ({ cell, agent }: CellReport): string => (cell.startsWith(agent) ? cell : `${cell} ${rowText(agent)}`);

const eventLines = (report: RunReport): readonly string[] => {
  const runView = newRunView();
  return report.events.flatMap((event) => {
    applyEvent(runView, event);
    return eventLine(event, runView, true) ?? [];
  });
};
