// What the outcomes of a task's dependencies mean for the task.
import type { Task, TaskReason, TaskStatus } from '#contracts';
import { matchesCondition } from './matches-condition.ts';
import type { TeamTexts } from './team-texts.ts';

export const isFinal = (status: TaskStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'blocked' || status === 'skipped';

/** Why the dependents of an ended task are blocked; null if they are not. */
export const blockReason = (task: Task, { reasons }: TeamTexts): TaskReason | null => {
  // probe: task-blocks-nobody
  if (task.status === 'completed' || isNotNeeded(task)) return null;
  // Dependents of a blocked task are blocked for the same reason.
  if (task.status === 'blocked') return task.reason;
  return Object.freeze<TaskReason>({
    code: 'dependency',
    task: task.id,
    text: reasons.dependency(task.id, task.status === 'failed' ? 'failed' : 'skipped'),
  });
};

/** Why a task is not needed, once all of its dependencies have ended well; null if it is needed. */
export const skipReason = (task: Task, dependencies: readonly Task[], { reasons }: TeamTexts): TaskReason | null => {
  const [first] = dependencies;
  // probe: task-not-needed
  if (first !== undefined && dependencies.every(isNotNeeded)) return notNeeded(first.id, reasons.noneNeeded);
  const { when } = task;
  if (when === null) return null;
  const result = dependencies.find(({ id }) => id === when.task)?.result ?? null;
  if (result === null) return notNeeded(when.task, reasons.conditionNotNeeded(when.task));
  return matchesCondition(when, result) ? null : notNeeded(when.task, reasons.conditionNotMet(when.task));
};

/** Skipped by a condition: this blocks no dependents. */
const isNotNeeded = ({ status, reason }: Task): boolean => status === 'skipped' && reason?.code === 'condition';

const notNeeded = (task: string, text: string): TaskReason => Object.freeze({ code: 'condition', task, text });
