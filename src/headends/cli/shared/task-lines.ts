// The tasks of a team's run, one line each: live, with what each is doing now, at the end, and for `show`.
import type { CellId } from '#base';
import type { DrawableTask, TaskReport } from '#contracts';
import { activityText, count, plural } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { finalGraphLines, graphLines, statusesByWeight, taskSigns } from './graph-lines.ts';
import type { Paint, Screen } from './output.ts';
import { excerpt, truncateColumns } from './sanitize-text.ts';

const reportLinesMax = 60;

/** The tasks must be sanitized. Empty if the run is not a team's. */
export const taskLines = (
  tasks: readonly TaskReport[],
  { paint, columns }: Screen,
  height = reportLinesMax,
): readonly string[] => {
  if (tasks.length === 0) return [];
  return [
    `${paint('bold', 'Tasks')} (${count(tasks.length)}): ${describeTaskCounts(tasks)}`,
    ...finalGraphLines(withIds(tasks), { width: columns, height, paint }),
  ];
};

/** With their ids, because `explain` takes them. */
const withIds = (tasks: readonly TaskReport[]): readonly TaskReport[] =>
  tasks.map((task) => ({ ...task, title: `${task.id}: ${task.title}` }));

const resultLinesMax = 40;

/** Each task with its dependencies, its cells and the first lines of its result. The tasks must be sanitized. */
export const resultLines = (tasks: readonly TaskReport[], { paint, columns }: Screen): readonly string[] =>
  tasks.flatMap(({ id, title, dependsOn, cells, result, reason }) => {
    const after = dependsOn.length === 0 ? '' : ` after ${dependsOn.join(', ')}`;
    const where = cells.length === 0 ? '' : ` in ${cells.join(', ')}`;
    const lines = (result ?? reason?.text ?? '').split('\n');
    const more = lines.length - resultLinesMax;
    return [
      '',
      paint('bold', excerpt(`${id}: ${title}${after}${where}`, columns)),
      ...lines.slice(0, resultLinesMax).map((line) => `  ${line}`),
      ...(more > 0 ? [paint('dim', `  … ${plural(more, 'more line')}: use --json for all`)] : []),
    ];
  });

type GraphScreen = { readonly columns: number; readonly linesMax: number; readonly paint: Paint };

type GraphScreenContent = {
  readonly runView: RunView;
  /** All tasks in their current state; if undefined, those known from events. */
  readonly tasks: Iterable<DrawableTask> | undefined;
  /** One line with the usage so far. */
  readonly total: string;
};

/** At most this many lines stay at the end; the summary and `show` have all of them. */
const finalMax = 200;

/** Never more lines than `linesMax`. */
export const graphScreen = (
  shown: GraphScreenContent,
  { columns, linesMax, paint }: GraphScreen,
): readonly string[] => {
  const { runView, total } = shown;
  const all = [...(shown.tasks ?? [])];
  const tasks = all.length > 0 ? all : [...runView.tasks.values()];
  const height = Math.max(1, Math.min(linesMax - 2, finalMax));
  return [
    paint(
      'dim',
      truncateColumns(
        `  ${plural(tasks.length, 'task')}: ${describeTaskCounts(tasks)}${describeCoordinator(runView)}`,
        columns,
      ),
    ),
    ...graphLines(
      tasks.map((task) => withActivity(task, runView)),
      { width: columns, height, paint },
    ),
    paint('dim', truncateColumns(total, columns)),
  ];
};

/** `1 running, 2 waiting, 3 done`. */
const describeTaskCounts = (tasks: readonly Pick<DrawableTask, 'status'>[]): string => {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  return statusesByWeight
    .flatMap((status) => (counts.has(status) ? [`${count(counts.get(status)!)} ${taskSigns[status].word}`] : []))
    .join(', ');
};

/** For a running task, shows what its cell is doing in place of the reason. */
const withActivity = (task: DrawableTask, { cells, tasks }: RunView): DrawableTask => {
  if (task.status !== 'running') return task;
  const cell = cells.get(tasks.get(task.id)?.cell ?? ('' as CellId));
  return cell === undefined ? task : { ...task, reason: { code: 'failed', text: activityText(cell) } };
};

/** When no task is open, the coordinator is writing the answer. */
const describeCoordinator = ({ cells, tasks, openTasks }: RunView): string => {
  if (openTasks.size > 0) return '';
  const ofTasks = new Set([...tasks.values()].map(({ cell }) => cell));
  const working = [...cells.values()].find(
    ({ cell, parent, status }) => parent !== null && status === null && !ofTasks.has(cell),
  );
  return working === undefined ? '' : ` · ${working.agent} is answering (${activityText(working)})`;
};
