// The prompts of a team's cells, built from tasks alone, so they do not depend on anything else that ran.
import type { Task, TeamMessage } from '#contracts';
import { dependencyText, truncateHandover, messagesText, synthesisText } from '#core/rules';
import type { Dependency } from '#contracts';
import { newestTeamTexts } from '#core/tasks';
import { answerGoal } from './coordinator-prompts.ts';

/** The source of messages that wait for a member. */
type TeamMessages = { getMessages(assignee: string): readonly TeamMessage[] };
type TaskLookup = {
  get(id: string): Task | undefined;
  tasks(): Iterable<Task>;
  /** The task that gets a member's messages. Without this function, every task of the member gets them. */
  earliestUnstarted?(assignee: string): Task | undefined;
};

type PreviewLimits = {
  /** Bytes shown of one result; a longer one is cut, with a note on how to read on. The default is what a task is shown unless its agent sets a limit. */
  readonly bytesMax?: number;
};

/**
 * The parts of a task's prompt, joined by blank lines: its title and description, the results of the tasks it depends on (each under
 * its title and assignee, read from the queue), and messages to its assignee. Nothing else.
 */
export const buildTaskPrompt = (
  task: Task,
  team: TeamMessages,
  queue: TaskLookup,
  { bytesMax = bytesDefault }: PreviewLimits = {},
): string => {
  const isAll = task.memoryScope === 'all';
  const visible = isAll ? [...queue.tasks()] : task.dependsOn.flatMap((id) => queue.get(id) ?? []);
  const results = visible
    .filter(({ status }) => status === 'completed')
    .map((one, index) => {
      const heading = index > 0 ? 0 : isAll ? 2 : 1;
      return dependencyText(toDependency(one), { heading, bytesMax, nth: index + 1 });
    });
  const messages = getsMessages(task, queue) ? team.getMessages(task.assignee!) : [];
  return [
    newestTeamTexts.taskGoal(task.title, task.description),
    ...results,
    ...(messages.length === 0 ? [] : [messagesText(messages)]),
  ].join('\n\n');
};

/** The parts of a coordinator's final prompt: the goal, the missing tasks, and all results. */
export const buildSynthesisPrompt = (
  goal: string | null,
  queue: Pick<TaskLookup, 'tasks'>,
  { bytesMax }: PreviewLimits = {},
): string => {
  const tasks = [...queue.tasks()];
  const done = tasks.filter(({ status }) => status === 'completed');
  const missing = tasks.filter(({ status, reason }) => status !== 'completed' && reason?.code !== 'condition');
  const bytesPerResult = Math.max(
    80,
    Math.min(resultBytesMax, Math.floor(synthesisBytes / Math.max(1, done.length)) - 160),
  );
  return [
    answerGoal(goal, missing, newestTeamTexts),
    synthesisText(done.map(toDependency), bytesMax ?? bytesPerResult),
  ].join('\n\n');
};

/** Used when the size of the window is unknown. */
const [bytesDefault, resultBytesMax, synthesisBytes] = [8_000, 32_000, 256_000];

const toDependency = ({ id, title, assignee, result }: Task): Dependency => ({
  task: id,
  title,
  assignee,
  ...truncateHandover(result ?? ''),
});

/** Messages go to the recipient's earliest task that has not started. */
const getsMessages = (task: Task, queue: TaskLookup): boolean => {
  if (task.assignee === null || queue.earliestUnstarted === undefined) return task.assignee !== null;
  return task.attempts === 0 && queue.earliestUnstarted(task.assignee)?.id === task.id;
};
