// Finds runs and cells by a prefix of their id.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { Cloister, RunReport, RunSummary, TaskReport } from '#contracts';
import { UsageError } from './usage-error.ts';

const candidatesMax = 5;

export const resolveRun = async (cloister: Cloister, name: string): Promise<RunId> =>
  (await resolveSummary(cloister, name)).run;

/** `last` stands for the newest run. */
export const resolveSummary = async (cloister: Cloister, name: string): Promise<RunSummary> => {
  const summaries = await cloister.runs();
  if (name === 'last' && summaries[0] !== undefined) return summaries[0];
  const runs = summaries.map(({ run }) => run);
  const found = matchPrefix(name, runs, (run) => run.startsWith(name));
  if (found.length > 1) throw ambiguousError('run', name, found);
  const summary = summaries.find(({ run }) => run === found[0]);
  if (summary !== undefined) return summary;
  throw new CloisterError(
    'run_unknown',
    runs.length === 0 ? 'It has no runs yet.' : `The newest are: ${listNames(runs)}.`,
  );
};

/** An agent name works too if only one cell has that agent, and so does a task id, which stands for the newest cell of the task. */
export const resolveCell = (report: RunReport, name: string, tasks: readonly TaskReport[] = []): CellId => {
  const cells = report.cells.map(({ cell }) => cell);
  const task = tasks.find(({ id }) => id === name);
  if (task !== undefined && !cells.some((cell) => cell === name)) return cellOfTask(task);
  const ofAgent = report.cells.filter(({ agent }) => agent === name).map(({ cell }) => cell);
  const found = ofAgent.length === 1 ? ofAgent : matchPrefix(name, cells, (cell) => cell.startsWith(name));
  if (found.length === 1 && found[0] !== undefined) return found[0];
  if (found.length > 1) throw ambiguousError('cell', name, found);
  throw new CloisterError(
    'cell_unknown',
    `The run has: ${listNames(cells)}${tasks.length === 0 ? '' : `; its tasks: ${listNames(tasks.map(({ id }) => id))}`}.`,
  );
};

const cellOfTask = ({ id, status, cells }: TaskReport): CellId => {
  const newest = cells.at(-1);
  if (newest !== undefined) return newest;
  throw new CloisterError('cell_unknown', `No agent has worked on task ${id}: it is ${status}.`);
};

export const matchPrefix = <T extends string>(
  name: string,
  all: readonly T[],
  fits: (one: T) => boolean,
): readonly T[] => {
  if (name === '') return [];
  const exact = all.filter((one) => one === name);
  return exact.length > 0 ? exact : all.filter(fits);
};

export const ambiguousError = (what: string, name: string, found: readonly string[]): UsageError =>
  new UsageError(
    `more than one ${what} starts with "${name}": ${listNames(found)}`,
    `type more characters of the ${what} id`,
  );

export const listNames = (names: readonly string[]): string => {
  const more = names.length - candidatesMax;
  return `${names.slice(0, candidatesMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};
