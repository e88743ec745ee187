// Commands to paste: a cloister command, foreign text as one shell word, and what to do next with a run.
import type { DurableEvent, RunReport, TaskReport } from '#contracts';
import { defaultWorkspace } from './options.ts';
import { sanitizeLine } from './sanitize-text.ts';

type NextCommands = {
  /** The actual folder of the workspace. */
  readonly folder: string;
  /** The value of --workspace. */
  readonly given: string;
  /** Tasks, if the run is of a team. */
  readonly tasks: readonly TaskReport[];
  /** Commands specific to this run; they come before the usual ones. */
  readonly extra: readonly string[];
};

/** The report must be sanitized. */
export const nextCommandLines = (
  report: RunReport,
  { folder, given, tasks, extra }: NextCommands,
): readonly string[] => {
  // A cell without a request was shown nothing.
  const asked = report.cells.filter(({ turns }) => turns > 0);
  const cell = asked.find(({ depth }) => depth > 0) ?? asked[0];
  const find = cell === undefined ? '' : findOption(report, cell.cell);
  const task = tasks.findLast(({ status }) => status === 'completed');
  const commands = [
    ...extra,
    `show ${report.run}`,
    ...(report.events.some(isWindowEvent) ? [`show ${report.run} --window`] : []),
    ...(task !== undefined
      ? [`explain ${report.run} ${task.id}`]
      : cell === undefined
        ? []
        : [`explain ${report.run} ${cell.cell}${find}`]),
    `audit ${report.run}`,
  ];
  return [
    `Workspace: ${sanitizeLine(folder)}`,
    'Next steps:',
    ...commands.map((words) => `  ${cloisterCommand(words, given)}`),
  ];
};

/** Continues an interrupted run. `resume` would end a chat, because nobody is there to write to it. */
export const continueCommand = (
  { run, agent, chat, caller }: Pick<RunReport, 'run' | 'agent' | 'chat' | 'caller'>,
  workspace: string,
): string =>
  cloisterCommand(
    chat === undefined || caller !== null
      ? `resume ${run}`
      : `chat ${shellWord(agent)} --conversation ${shellWord(`${chat.agent}/${chat.name}`)}`,
    workspace,
  );

const isWindowEvent = ({ type }: DurableEvent): boolean => type === 'window-clamp' || type === 'window-trim';

/** `--find` with a few words of the cell's goal that need no escaping, so that `explain` finds something. */
const findOption = (report: RunReport, cell: string): string => {
  const start = report.events.find((event) => event.type === 'session-start' && event.cell === cell);
  const words =
    start?.type === 'session-start' ? /[\p{L}\p{N}]+(?: [\p{L}\p{N}]+){0,2}/u.exec(start.goal)?.[0] : undefined;
  return words === undefined || words.length > 40 ? '' : ` --find "${words}"`;
};

/** `workspace`: the value of --workspace. */
export const cloisterCommand = (words: string, workspace: string): string =>
  `npx cloister ${words}${workspace === defaultWorkspace ? '' : ` --workspace ${shellWord(workspace)}`}`;

/** Foreign text as one word. */
export const shellWord = (text: string): string => (/^[\w./@%+=:-]+$/u.test(text) ? sanitizeLine(text) : quoted(text));

/** In double quotes, unless the shell would interpret something inside them. */
export const shellText = (text: string): string => {
  const line = sanitizeLine(text);
  return /["$`\\!]/u.test(line) ? quoted(line) : `"${line}"`;
};

const quoted = (text: string): string => `'${sanitizeLine(text).replaceAll("'", String.raw`'\''`)}'`;
