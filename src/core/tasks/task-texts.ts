// A team's answer without a coordinator: the results, and what is missing.
import type { Task } from '#contracts';
import type { TaskQueue } from './task-queue.ts';
import type { TeamTexts } from './team-texts.ts';

/** Tasks that were not completed, except those that were not needed. */
export const missingTasks = (queue: TaskQueue): readonly Task[] =>
  // probe: team-missing
  [...queue.tasks()].filter(({ status, reason }) => status !== 'completed' && reason?.code !== 'condition');

/**
 * The results that no other completed task used. If there is one and nothing is missing, it is returned as it is; otherwise each
 * result is under its title, followed by what is missing. Empty if nothing was done.
 */
export const resultsText = (queue: TaskQueue): string => {
  const isDone = ({ status }: Task): boolean => status === 'completed';
  const last = [...queue.tasks()].filter((task) => isDone(task) && !queue.dependentsOf(task.id).some(isDone));
  const missing = missingTasks(queue);
  if (last.length === 1 && missing.length === 0) return last[0]!.result ?? '';
  const { texts } = queue;
  const parts = last.map(({ title, assignee, result }) => texts.result(title, assignee, result ?? ''));
  return parts.length === 0 ? '' : `${parts.join('\n\n')}${missingSection(missing, texts)}`;
};

/** The section that the runtime appends to an answer about what is missing, whatever the answer itself says. */
export const missingSection = (missing: readonly Task[], texts: TeamTexts): string =>
  missing.length === 0 ? '' : texts.missing(missingLines(missing, texts));

const listedMax = 50;

export const missingLines = (missing: readonly Task[], texts: TeamTexts): readonly string[] => [
  ...missing.slice(0, listedMax).map((task) => texts.missingTask(task)),
  ...(missing.length > listedMax ? [texts.moreMissing(missing.length - listedMax)] : []),
];
