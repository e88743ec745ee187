// What the outcomes of a task's dependencies mean for the task.
import type { Task, TaskReason, TaskStatus, TaskCondition } from '#contracts';
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

// Decides whether a result meets a condition.
//
//   condition-first-line. Ignoring case. Blank lines, quotes and Markdown marks before its first word are skipped.
//   condition-whole-word. The line must be or start with one of the words, as a whole word: `no` does not match `nothing` or
//       `no-one`.
//   condition-constant-time. The time does not grow with the size of the result.

export const matchesCondition = (condition: TaskCondition, result: string): boolean => {
  const line = firstLine(result);
  const startsWithAny = (words: string | readonly string[]): boolean =>
    (typeof words === 'string' ? [words] : words).some((word) => beginsWith(line, normalize(word)));
  return condition.is === undefined ? !startsWithAny(condition.not ?? []) : startsWithAny(condition.is);
};

const headChars = 2_000;
const lineChars = 500;

const firstLine = (result: string): string => {
  const head = result.slice(0, headChars).trimStart();
  return normalize(head.slice(0, Math.min(lineChars, /[\n\r\u2028\u2029]/u.exec(head)?.index ?? lineChars)));
};

const normalize = (text: string): string => text.normalize('NFC').toLowerCase().trim();

const beginsWith = (line: string, word: string): boolean =>
  isWordOf(line, word) || isWordOf(line.replace(/^[\s*_#>`"'“”‘’«»([-]+/u, ''), word);

const isWordOf = (line: string, word: string): boolean =>
  word !== '' &&
  line.startsWith(word) &&
  !/^(?:[\p{L}\p{N}\p{M}]|[-_'’][\p{L}\p{N}]|\.\p{N})/u.test(line.slice(word.length));
