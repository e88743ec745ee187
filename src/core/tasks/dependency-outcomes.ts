// What the outcomes of a task's dependencies mean for the task.
import type { Task, TaskReason, TaskStatus } from '#contracts';
import { matchesCondition } from './matches-condition.ts';

export const isFinal = (status: TaskStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'blocked' || status === 'skipped';

/** Why the dependents of an ended task are blocked; null if they are not. */
export const blockReason = (task: Task): TaskReason | null => {
  // probe: task-blocks-nobody
  if (task.status === 'completed' || isNotNeeded(task)) return null;
  // Dependents of a blocked task are blocked for the same reason.
  if (task.status === 'blocked') return task.reason;
  const end = task.status === 'failed' ? 'failed' : 'was not done';
  return Object.freeze<TaskReason>({
    code: 'dependency',
    task: task.id,
    text: `it depends on ${task.id}, which ${end}`,
  });
};

/** Why a task is not needed, once all of its dependencies have ended well; null if it is needed. */
export const skipReason = (task: Task, dependencies: readonly Task[]): TaskReason | null => {
  const [first] = dependencies;
  // probe: task-not-needed
  if (first !== undefined && dependencies.every(isNotNeeded))
    return notNeeded(first.id, 'none of the tasks it depends on was needed');
  const { when } = task;
  if (when === null) return null;
  const result = dependencies.find(({ id }) => id === when.task)?.result ?? null;
  if (result === null) return notNeeded(when.task, `its condition is about ${when.task}, which was not needed`);
  return matchesCondition(when, result)
    ? null
    : notNeeded(when.task, `the result of ${when.task} did not meet its condition`);
};

/** Skipped by a condition: this blocks no dependents. */
const isNotNeeded = ({ status, reason }: Task): boolean => status === 'skipped' && reason?.code === 'condition';

const notNeeded = (task: string, text: string): TaskReason => Object.freeze({ code: 'condition', task, text });
