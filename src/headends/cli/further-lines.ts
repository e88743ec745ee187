// Where a run lies, and the commands to look further.
import type { RunReport } from '#contracts';
import { defaultWorkspace } from './parse-args.ts';
import { oneLine } from './text.ts';

/** `folder`: where it really lies. `given`: how --workspace named it. The report must be harmless. */
export const furtherLines = (report: RunReport, folder: string, given: string): readonly string[] => {
  const where = given === defaultWorkspace ? '' : ` --workspace ${shellWord(given)}`;
  const cell = report.cells.find(({ depth }) => depth > 0) ?? report.cells[0];
  const find = cell === undefined ? '' : findable(report, cell.cell);
  return [
    `Workspace: ${oneLine(folder)}`,
    'Look further:',
    `  npx cloister show ${report.run}${where}`,
    ...(cell === undefined ? [] : [`  npx cloister explain ${report.run} ${cell.cell}${find}${where}`]),
    `  npx cloister audit ${report.run}${where}`,
  ];
};

/** A few words of the cell's goal that need no quoting: something that `explain` finds. */
const findable = (report: RunReport, cell: string): string => {
  const start = report.events.find((event) => event.type === 'session-start' && event.cell === cell);
  const words =
    start?.type === 'session-start' ? /[\p{L}\p{N}]+(?: [\p{L}\p{N}]+){0,2}/u.exec(start.goal)?.[0] : undefined;
  return words === undefined || words.length > 40 ? '' : ` --find "${words}"`;
};

const shellWord = (text: string): string =>
  /^[\w./@%+=:-]+$/u.test(text) ? text : `'${oneLine(text).replaceAll("'", String.raw`'\''`)}'`;
