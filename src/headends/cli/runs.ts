// `runs`: lists the runs of a workspace page by page, one line each, with interrupted and damaged runs highlighted. The column for the
// caller appears only if a run was served. The commands below it are about the life of runs.
import { omitUndefined } from '#base';
import type { RunId } from '#base';
import type { ConversationRef, QuestionReport, RunSummary } from '#contracts';
import { count, dateTime, plural } from '#headends/run-view';
import { runsArchive, runsExport, runsImport, runsRestore } from './runs-archive.ts';
import { runsDelete } from './runs-delete.ts';
import { runsExpire } from './runs-expire.ts';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { cloisterCommand, continueCommand } from './shared/next-commands.ts';
import { openToRead, resolveRun } from './shared/find-and-open.ts';
import { flagOption, positiveInteger, textOption, valueOption, workspaceOption } from './shared/options.ts';
import type { Screen, Style } from './shared/output.ts';
import { excerpt, sanitizeAll, sanitizeLine } from './shared/sanitize-text.ts';
import { tableLines } from './shared/table.ts';
import { stateMark, rowText } from './shared/tree.ts';

const runsPerPage = 100;

export default defineCommand({
  about: 'list the runs in the workspace, newest first; or delete, archive, export and import runs',
  examples: ['cloister runs', 'cloister runs --limit 10', 'cloister runs --before 4f2a', 'cloister runs delete last'],
  commands: {
    delete: runsDelete,
    archive: runsArchive,
    restore: runsRestore,
    export: runsExport,
    import: runsImport,
    expire: runsExpire,
  },
  options: {
    ...workspaceOption,
    limit: valueOption('<n>', `how many runs to list (default: ${runsPerPage})`, (text) => positiveInteger(text)),
    before: textOption('<run>', 'only runs that began before this one'),
    all: { ...flagOption('all runs, also those that only their records know'), conflicts: ['limit', 'before'] },
  },
  run: async ({ workspace, json, limit: asked, before: name, all }, { runtime, output }) => {
    await using cloister = await openToRead(workspace, runtime);
    const before = name === null ? undefined : await resolveRun(cloister, name);
    const limit = asked ?? runsPerPage;
    const found = await cloister.runs({ waiting: true, before, most: all ? undefined : limit + 1 });
    const runs = all ? found : found.slice(0, limit);
    // A log that cannot be read must not keep the other runs from being listed.
    const waiting = Map.groupBy(await cloister.questions().catch(() => []), ({ run }) => run);
    const newest = json ? undefined : runs.find((run) => isInterrupted(run) && !waiting.has(run.run));
    const report = newest === undefined ? null : await cloister.show(newest.run).catch(() => null);
    const value = runs.map((run) => (waiting.has(run.run) ? { ...run, questions: waiting.get(run.run)!.length } : run));
    output.result(json, value, (printer) =>
      runsLines(
        sanitizeAll(runs),
        {
          workspace,
          waiting,
          chat: report?.chat,
          isEmpty: found.length === 0 && before === undefined,
          hasOlder: found.length > runs.length,
        },
        printer,
      ),
    );
    return exitCode.completed;
  },
});

type RunsView = {
  readonly workspace: string;
  /** The open questions of each run. */
  readonly waiting: ReadonlyMap<RunId, readonly QuestionReport[]>;
  /** Of the newest interrupted run, if it is a chat. */
  readonly chat: ConversationRef | undefined;
  /** The workspace has no runs. */
  readonly isEmpty: boolean;
  readonly hasOlder: boolean;
};

/** The runs must be sanitized. */
const runsLines = (
  runs: readonly RunSummary[],
  { workspace, waiting, chat, isEmpty, hasOlder }: RunsView,
  screen: Screen,
): readonly string[] => {
  if (runs.length === 0 && !isEmpty) return ['There are no older runs.'];
  if (runs.length === 0)
    return [
      `No runs in ${sanitizeLine(workspace)} yet.`,
      'Start one with `cloister demo` or `cloister run <agent> "<input>"`.',
    ];
  const wereServed = runs.some(({ caller }) => caller !== null);
  const [heading = '', ...lines] = tableLines<RunSummary>(
    [
      { title: 'run', value: ({ run }) => run },
      { title: 'agent', shrinksTo: 8, value: ({ agent }) => rowText(agent) },
      { title: 'state', value: (run) => describeState(run, waiting.get(run.run)?.length ?? 0) },
      { title: 'cells', align: 'right', value: (run) => (isUnknown(run) ? '' : count(run.cells)) },
      { title: 'started', value: ({ startedAt }) => (startedAt === 0 ? '' : dateTime(startedAt)) },
      ...(wereServed
        ? [{ title: 'caller', shrinksTo: 8, value: (run: RunSummary) => excerpt(run.caller ?? '', 40) }]
        : []),
      { title: 'goal', shrinksTo: 8, value: ({ goal }) => excerpt(goal, 60) },
    ],
    runs,
    screen,
  );
  return [
    heading,
    ...lines.map((line, index) => {
      const style = styles[runs[index]!.state];
      return style === undefined ? line : screen.paint(style, line);
    }),
    ...(hasOlder
      ? ['', 'To list older runs:', `  ${cloisterCommand(`runs --before ${runs.at(-1)!.run}`, workspace)}`]
      : []),
    ...waitingRunLines(waiting, workspace),
    ...interruptedLines(
      runs.filter((run) => isInterrupted(run) && !waiting.has(run.run)),
      workspace,
      chat,
    ),
    ...otherMachineLines(runs, workspace),
    ...damagedLines(runs, workspace),
    ...unreadableLines(runs),
  ];
};

const styles: Readonly<Partial<Record<RunSummary['state'], Style>>> = { interrupted: 'yellow', damaged: 'red' };

const describeState = ({ state, status, unreadable }: RunSummary, questions: number): string => {
  if (unreadable !== undefined) return '? unreadable';
  if (state === 'damaged') return '✗ damaged';
  const shown = state === 'ended' ? (status ?? 'interrupted') : state;
  return `${stateMark(shown)} ${shown}${questions === 0 ? '' : ` (${count(questions)})`}`;
};

/** Its entry in the list of runs is missing. */
const isUnknown = ({ state, cells }: RunSummary): boolean => state === 'damaged' && cells === 0;

const isInterrupted = ({ state, unreadable }: RunSummary): boolean =>
  state === 'interrupted' && unreadable === undefined;

/** Who answers continues the run, so it need not be resumed. */
const waitingRunLines = (waiting: RunsView['waiting'], workspace: string): readonly string[] => {
  const questions = [...waiting.values()].flat();
  const [newest] = questions.toReversed();
  if (newest === undefined) return [];
  const words = `${waiting.size === 1 ? '1 run waits' : `${count(waiting.size)} runs wait`} for people`;
  return [
    '',
    `${words}: ${plural(questions.length, 'open question')}. To see the newest, and how to answer it:`,
    `  ${cloisterCommand(`questions ${newest.id}`, workspace)}`,
  ];
};

const interruptedLines = (
  [newest, ...others]: readonly RunSummary[],
  workspace: string,
  chat: ConversationRef | undefined,
): readonly string[] => {
  if (newest === undefined) return [];
  const words =
    others.length === 0
      ? '1 run was interrupted. To continue it:'
      : `${count(others.length + 1)} runs were interrupted. To continue the newest:`;
  return ['', words, `  ${continueCommand({ ...newest, ...omitUndefined({ chat }) }, workspace)}`];
};

/** Only the newest get a command; the table has all runs. */
const listedMax = 5;

const otherMachineLines = (runs: readonly RunSummary[], workspace: string): readonly string[] =>
  runs
    .filter(({ elsewhere, unreadable }) => elsewhere === true && unreadable === undefined)
    .slice(0, listedMax)
    .flatMap(({ run, owner }) => [
      '',
      `Run ${run} is owned by ${sanitizeLine(owner ?? 'another process')}. If that process is dead, take the run over:`,
      `  ${cloisterCommand(`resume ${run} --take-over`, workspace)}`,
    ]);

const damagedLines = (runs: readonly RunSummary[], workspace: string): readonly string[] => {
  const found = runs.filter(({ state }) => state === 'damaged');
  if (found.length === 0) return [];
  const words = found.length === 1 ? '1 run has lost records' : `${count(found.length)} runs have lost records`;
  const commands = found.slice(0, listedMax).map(({ run }) => `  ${cloisterCommand(`audit ${run}`, workspace)}`);
  const scope = found.length > listedMax ? ` from the newest ${listedMax}` : '';
  return ['', `${words}. To list what is missing${scope}:`, ...commands];
};

/** Recorded by other builds, in a format that this one does not know. */
const unreadableLines = (runs: readonly RunSummary[]): readonly string[] => {
  const found = runs.flatMap(({ unreadable }) => unreadable ?? []);
  if (found.length === 0) return [];
  const more = found.length > listedMax ? [`… ${count(found.length - listedMax)} more`] : [];
  return ['', ...found.slice(0, listedMax).map((one) => sanitizeLine(one)), ...more];
};
