// A team at work, drawn again and again: its tasks, what each does now, and what it took so far.
import type { CellId } from '#base';
import { doingNow } from './run-progress.ts';
import type { RunProgress } from './run-progress.ts';
import { count, plural } from './format-numbers.ts';
import type { GraphTask } from './graph-layers.ts';
import { graphLines } from './graph-lines.ts';
import { statusesByWeight, taskSigns } from './graph-signs.ts';
import type { Paint } from './output.ts';
import { truncateColumns } from './sanitize-text.ts';

export type GraphScreen = { readonly columns: number; readonly linesMax: number; readonly paint: Paint };

export type GraphShown = {
  readonly board: RunProgress;
  /** All of them as they stand; without these, those that events have told of. */
  readonly tasks: Iterable<GraphTask> | undefined;
  /** What it took so far, in words. */
  readonly total: string;
};

/** What stays when it is over; the summary and `show` have them all. */
const finalMax = 200;

/** Never more lines than `linesMax`. */
export const graphScreen = (shown: GraphShown, { columns, linesMax, paint }: GraphScreen): readonly string[] => {
  const { board, total } = shown;
  const all = [...(shown.tasks ?? [])];
  const tasks = all.length > 0 ? all : [...board.tasks.values()];
  const height = Math.max(1, Math.min(linesMax - 2, finalMax));
  return [
    paint(
      'dim',
      truncateColumns(`  ${plural(tasks.length, 'task')}: ${countWords(tasks)}${partWords(board)}`, columns),
    ),
    ...graphLines(
      tasks.map((task) => withDoing(task, board)),
      { width: columns, height, paint, unicode: true },
    ),
    paint('dim', truncateColumns(total, columns)),
  ];
};

/** `1 running, 2 waiting, 3 done`. */
export const countWords = (tasks: readonly Pick<GraphTask, 'status'>[]): string => {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  return statusesByWeight
    .flatMap((status) => (counts.has(status) ? [`${count(counts.get(status)!)} ${taskSigns[status].word}`] : []))
    .join(', ');
};

/** Of a task that is worked on: what its cell does, where others have a reason. */
const withDoing = (task: GraphTask, { cells, tasks }: RunProgress): GraphTask => {
  if (task.status !== 'running') return task;
  const cell = cells.get(tasks.get(task.id)?.cell ?? ('' as CellId));
  return cell === undefined ? task : { ...task, reason: { code: 'failed', text: doingNow(cell) } };
};

/** Who works when no task does: the coordinator, on its answer. */
const partWords = ({ cells, tasks, openTasks }: RunProgress): string => {
  if (openTasks.size > 0) return '';
  const ofTasks = new Set([...tasks.values()].map(({ cell }) => cell));
  const working = [...cells.values()].find(
    ({ cell, parent, status }) => parent !== null && status === null && !ofTasks.has(cell),
  );
  return working === undefined ? '' : ` · ${working.agent} answers (${doingNow(working)})`;
};
