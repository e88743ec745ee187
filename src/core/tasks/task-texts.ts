// What a team's answer says of its tasks: the results, and what is not in it.
import type { Task } from '#contracts';
import type { TaskQueue } from './task-queue.ts';

/** Not those that were not needed. */
export const missingIn = (queue: TaskQueue): readonly Task[] =>
  // probe: team-missing
  [...queue.tasks()].filter(({ status, reason }) => status !== 'completed' && reason?.code !== 'condition');

/**
 * The results that went into no other: if all is done and there is one, as it is; else each under its title, and at the end what is
 * not among them. Empty when nothing was done.
 */
export const resultsText = (queue: TaskQueue): string => {
  const isDone = ({ status }: Task): boolean => status === 'completed';
  const last = [...queue.tasks()].filter((task) => isDone(task) && !queue.dependentsOf(task.id).some(isDone));
  const missing = missingIn(queue);
  if (last.length === 1 && missing.length === 0) return last[0]!.result ?? '';
  const parts = last.map(
    ({ title, assignee, result }) => `## ${oneLine(title)} (by ${assignee ?? 'unknown'})\n\n${result}`,
  );
  return parts.length === 0 ? '' : `${parts.join('\n\n')}${missingWords(missing)}`;
};

/** How an answer says itself what is not in it, whatever its writer has said. */
export const missingWords = (missing: readonly Task[]): string =>
  missing.length === 0 ? '' : `\n\nNot in this answer:\n${missingLines(missing).join('\n')}`;

const listedMax = 50;

export const missingLines = (missing: readonly Task[]): readonly string[] => [
  ...missing.slice(0, listedMax).map(missingLine),
  ...(missing.length > listedMax ? [`- and ${missing.length - listedMax} more`] : []),
];

const missingLine = ({ title, assignee, status, reason }: Task): string =>
  `- ${oneLine(title)}${assignee === null ? '' : ` (by ${assignee})`}: ${status}${reason === null ? '' : `, ${reason.text}`}`;

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();
