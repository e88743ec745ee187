// The texts that a team's cells are shown, made of tasks alone: what their prompts must be, whatever else ran.
import type { Task, TeamMessage } from '#contracts';
import { dependencyText, truncateHandover, messagesText, synthesisText, taskText } from '#core/rules';
import type { Dependency } from '#core/rules';
import { answerGoal } from './coordinator-prompts.ts';

/** Whoever knows the messages that wait for a member. */
export type TeamMessages = { getMessages(assignee: string): readonly TeamMessage[] };
export type TaskLookup = {
  get(id: string): Task | undefined;
  tasks(): Iterable<Task>;
  /** Which of a member's tasks gets its messages; without it, the one that is asked about. */
  earliestUnstarted?(assignee: string): Task | undefined;
};

export type PreviewLimits = {
  /** Of one result; beyond that its beginning and how to read on. Default: what a task is shown unless its agent says otherwise. */
  readonly bytesMax?: number;
};

/**
 * The parts of a task's prompt, joined by blank lines: its title and description; under their titles and assignees the results of
 * the tasks that it depends on, read from the queue; messages to its assignee. Nothing else.
 */
export const buildTaskPrompt = (
  task: Task,
  team: TeamMessages,
  queue: TaskLookup,
  { bytesMax = bytesDefault }: PreviewLimits = {},
): string => {
  const isAll = task.memoryScope === 'all';
  const seen = isAll ? [...queue.tasks()] : task.dependsOn.flatMap((id) => queue.get(id) ?? []);
  const results = seen
    .filter(({ status }) => status === 'completed')
    .map((one, index) => {
      const heading = index > 0 ? 0 : isAll ? 2 : 1;
      return dependencyText(resultOf(one), { heading, bytesMax, nth: index + 1 });
    });
  const messages = isNext(task, queue) ? team.getMessages(task.assignee!) : [];
  return [
    taskText(task.title, task.description),
    ...results,
    ...(messages.length === 0 ? [] : [messagesText(messages)]),
  ].join('\n\n');
};

/** The parts of what a coordinator answers from: the goal, what is missing, and all results. */
export const buildSynthesisPrompt = (
  goal: string | null,
  queue: Pick<TaskLookup, 'tasks'>,
  { bytesMax }: PreviewLimits = {},
): string => {
  const tasks = [...queue.tasks()];
  const done = tasks.filter(({ status }) => status === 'completed');
  const missing = tasks.filter(({ status, reason }) => status !== 'completed' && reason?.code !== 'condition');
  const share = Math.max(80, Math.min(synthesisBytesMost, Math.floor(synthesisBytes / Math.max(1, done.length)) - 160));
  return [answerGoal(goal, missing), synthesisText(done.map(resultOf), bytesMax ?? share)].join('\n\n');
};

/** Of a window whose size is not known. */
const [bytesDefault, synthesisBytesMost, synthesisBytes] = [8_000, 32_000, 256_000];

const resultOf = ({ id, title, assignee, result }: Task): Dependency => ({
  task: id,
  title,
  assignee,
  ...truncateHandover(result ?? ''),
});

/** Messages go to the earliest task of their reader that has not started. */
const isNext = (task: Task, queue: TaskLookup): boolean => {
  if (task.assignee === null || queue.earliestUnstarted === undefined) return task.assignee !== null;
  return task.attempts === 0 && queue.earliestUnstarted(task.assignee)?.id === task.id;
};
