// Where a run lies, and the commands to look further.
import type { DurableEvent, RunReport, TaskReport } from '#contracts';
import { cloisterCommand } from './cloister-command.ts';
import { sanitizeLine } from './sanitize-text.ts';

export type NextCommands = {
  /** Where it really lies. */
  readonly folder: string;
  /** How --workspace named it. */
  readonly given: string;
  /** Of a team. */
  readonly tasks: readonly TaskReport[];
  /** What else can be done with this run, before what can be done with any. */
  readonly also: readonly string[];
};

/** The report must be harmless. */
export const furtherLines = (report: RunReport, { folder, given, tasks, also }: NextCommands): readonly string[] => {
  const cell = report.cells.find(({ depth }) => depth > 0) ?? report.cells[0];
  const find = cell === undefined ? '' : findable(report, cell.cell);
  const task = tasks.findLast(({ status }) => status === 'completed');
  const commands = [
    ...also,
    `show ${report.run}`,
    ...(report.events.some(isOfWindow) ? [`show ${report.run} --window`] : []),
    ...(task !== undefined
      ? [`explain ${report.run} ${task.id}`]
      : cell === undefined
        ? []
        : [`explain ${report.run} ${cell.cell}${find}`]),
    `audit ${report.run}`,
  ];
  return [
    `Workspace: ${sanitizeLine(folder)}`,
    'Look further:',
    ...commands.map((words) => `  ${cloisterCommand(words, given)}`),
  ];
};

const isOfWindow = ({ type }: DurableEvent): boolean => type === 'window-clamp' || type === 'window-trim';

/** A few words of the cell's goal that need no quoting: something that `explain` finds. */
const findable = (report: RunReport, cell: string): string => {
  const start = report.events.find((event) => event.type === 'session-start' && event.cell === cell);
  const words =
    start?.type === 'session-start' ? /[\p{L}\p{N}]+(?: [\p{L}\p{N}]+){0,2}/u.exec(start.goal)?.[0] : undefined;
  return words === undefined || words.length > 40 ? '' : ` --find "${words}"`;
};
