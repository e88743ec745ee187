// What the ends of its dependencies mean for a task.
import type { Task, TaskReason, TaskStatus } from '#contracts';
import { matchesCondition } from './matches-condition.ts';

export const isFinal = (status: TaskStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'blocked' || status === 'skipped';

/** Why those who depend on a task that has ended are blocked; null when they are not. */
export const blockedBy = (task: Task): TaskReason | null => {
  // probe: task-blocks-nobody
  if (task.status === 'completed' || isNotNeeded(task)) return null;
  // Those behind a blocked task are blocked by the same cause, and share its words.
  if (task.status === 'blocked') return task.reason;
  const end = task.status === 'failed' ? 'failed' : 'was not done';
  return Object.freeze<TaskReason>({
    code: 'dependency',
    task: task.id,
    text: `it depends on ${task.id}, which ${end}`,
  });
};

/** Why a task is not needed when all that it depends on has ended well; null when it is needed. */
export const conditionEnd = (task: Task, dependencies: readonly Task[]): TaskReason | null => {
  const [first] = dependencies;
  // probe: task-not-needed
  if (first !== undefined && dependencies.every(isNotNeeded))
    return notNeeded(first.id, 'nothing that it depends on was needed');
  const { when } = task;
  if (when === null) return null;
  const result = dependencies.find(({ id }) => id === when.task)?.result ?? null;
  if (result === null) return notNeeded(when.task, `${when.task}, which decides about it, was not needed`);
  return matchesCondition(when, result) ? null : notNeeded(when.task, `${when.task} decided otherwise`);
};

/** Skipped by a condition: nobody is blocked by that. */
const isNotNeeded = ({ status, reason }: Task): boolean => status === 'skipped' && reason?.code === 'condition';

const notNeeded = (task: string, text: string): TaskReason => Object.freeze({ code: 'condition', task, text });
