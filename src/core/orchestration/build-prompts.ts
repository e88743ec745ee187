// The texts that a team's cells are shown, made of tasks alone: what their prompts must be, whatever else ran.
import type { Task, TeamMessage } from '#contracts';
import { dependencyText, messagesText, synthesisText, taskText } from '#core/rules';
import { answerGoal } from './plan-words.ts';

/** Whoever knows the messages that wait for a member. */
export type TeamMessages = { getMessages(assignee: string): readonly TeamMessage[] };
export type TaskLookup = { get(id: string): Task | undefined; tasks(): Iterable<Task> };

export type ShownAtMost = {
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
  { bytesMax = bytesDefault }: ShownAtMost = {},
): string => {
  const isAll = task.memoryScope === 'all';
  const seen = isAll ? [...queue.tasks()] : task.dependsOn.flatMap((id) => queue.get(id) ?? []);
  const results = seen
    .filter(({ status }) => status === 'completed')
    .map((one, index) => {
      const heading = index > 0 ? 0 : isAll ? 2 : 1;
      return dependencyText(resultOf(one), { heading, bytesMax, nth: index + 1 });
    });
  const messages = task.assignee === null ? [] : team.getMessages(task.assignee);
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
  { bytesMax = synthesisBytesDefault }: ShownAtMost = {},
): string => {
  const tasks = [...queue.tasks()];
  const done = tasks.filter(({ status }) => status === 'completed');
  const missing = tasks.filter(({ status, reason }) => status !== 'completed' && reason?.code !== 'condition');
  return [answerGoal(goal, missing), synthesisText(done.map(resultOf), bytesMax)].join('\n\n');
};

const [bytesDefault, synthesisBytesDefault] = [8_000, 32_000];

const resultOf = ({ id, title, assignee, result }: Task) => ({ task: id, title, assignee, text: result ?? '' });
