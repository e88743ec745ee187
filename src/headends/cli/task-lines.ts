// The tasks of a team's run, a line each, when it is over or looked at.
import type { TaskReport } from '#contracts';
import { plural } from './format-numbers.ts';
import { finalGraphLines } from './graph-lines.ts';
import { countWords } from './graph-screen.ts';
import type { Page } from './output.ts';
import { excerpt } from './sanitize-text.ts';

const linesMax = 60;

/** They must be harmless. Nothing when the run is not of a team. */
export const taskLines = (
  tasks: readonly TaskReport[],
  { paint, columns }: Pick<Page, 'paint' | 'columns'>,
  height = linesMax,
): readonly string[] => {
  if (tasks.length === 0) return [];
  return [
    `${paint('bold', 'TASKS')}  ${plural(tasks.length, 'task')}: ${countWords(tasks)}`,
    ...finalGraphLines(withIds(tasks), { width: columns, height, paint, unicode: true }),
  ];
};

/** Ids are what `explain` takes. */
const withIds = (tasks: readonly TaskReport[]): readonly TaskReport[] =>
  tasks.map((task) => ({ ...task, title: `${task.id}: ${task.title}` }));

const resultLinesMax = 40;

/** What each task gave, after whom, and in which cells: the first lines of it. They must be harmless. */
export const resultLines = (
  tasks: readonly TaskReport[],
  { paint, columns }: Pick<Page, 'paint' | 'columns'>,
): readonly string[] =>
  tasks.flatMap(({ id, title, dependsOn, cells, result, reason }) => {
    const after = dependsOn.length === 0 ? '' : ` after ${dependsOn.join(', ')}`;
    const where = cells.length === 0 ? '' : ` in ${cells.join(', ')}`;
    const lines = (result ?? reason?.text ?? '').split('\n');
    const more = lines.length - resultLinesMax;
    return [
      '',
      paint('bold', excerpt(`${id}: ${title}${after}${where}`, columns)),
      ...lines.slice(0, resultLinesMax).map((line) => `  ${line}`),
      ...(more > 0 ? [paint('dim', `  … ${plural(more, 'line')} more: --json has all of it`)] : []),
    ];
  });
