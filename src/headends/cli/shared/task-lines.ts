// Formats the tasks of a team's run, one line each, at its end and for `show`.
import type { TaskReport } from '#contracts';
import { count, plural } from './format-numbers.ts';
import { finalGraphLines } from './graph-lines.ts';
import { describeTaskCounts } from './graph-screen.ts';
import type { Screen } from './output.ts';
import { excerpt } from './sanitize-text.ts';

const linesMax = 60;

/** The tasks must be sanitized. Empty if the run is not a team's. */
export const taskLines = (
  tasks: readonly TaskReport[],
  { paint, columns }: Screen,
  height = linesMax,
): readonly string[] => {
  if (tasks.length === 0) return [];
  return [
    `${paint('bold', 'Tasks')} (${count(tasks.length)}): ${describeTaskCounts(tasks)}`,
    ...finalGraphLines(withIds(tasks), { width: columns, height, paint, unicode: true }),
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
