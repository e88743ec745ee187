// The outcome of a team: its results, and the names of the tasks that are missing.
import { deepFreeze, omitUndefined } from '#base';
import type { ErrorCode, Failure, Json } from '#base';
import type { Envelope, Outcome, Status, Task } from '#contracts';
import type { Cell } from '#core/memory';
import { missingTasks, missingSection, resultsText, taskSummary } from '#core/tasks';
import type { TaskQueue } from '#core/tasks';

type Ending = {
  /** The coordinator's answer. */
  readonly answer?: Envelope;
  /** The failure that stopped the whole team. */
  readonly failure?: Failure;
};

export const teamOutcome = (cell: Cell, queue: TaskQueue, { answer, failure }: Ending): Outcome => {
  const tasks = [...queue.tasks()];
  const missing = missingTasks(queue);
  const hasResult = tasks.some(({ status }) => status === 'completed');
  const output =
    answer === undefined ? resultsText(queue) : answerText(cell, answer, missingSection(missing, queue.texts));
  const isComplete = missing.length === 0 && hasResult && (answer === undefined || answer.status === 'completed');
  if (isComplete && failure === undefined) return outcome(cell, 'completed', { output, queue });
  const why = failure ?? (missing.length === 0 ? answerFailure(answer) : tasksFailure(missing));
  const status = failure === undefined ? statusOf(hasResult, missing) : statusOfFailure(failure);
  return outcome(cell, status, { output, queue, failure: why, missing });
};

/** Nothing is appended to a JSON answer, which would break it; `missing` lists the tasks instead. */
const answerText = ({ agent }: Cell, { output }: Envelope, section: string): string =>
  agent.team?.coordinator?.answers.signature.output.format === 'json' ? output : `${output}${section}`;

/** The coordinator could not answer, so the output is the results it would have answered from. */
export const unansweredTeamOutcome = (cell: Cell, queue: TaskQueue, why: Envelope | Failure): Outcome => {
  const failure: Failure =
    'code' in why ? why : failureLike(why.error, 'defect', `The coordinator returned no answer (${why.status}).`);
  const status = 'code' in why ? statusOfFailure(why) : why.status === 'failed' ? 'partial' : why.status;
  return outcome(cell, status === 'completed' ? 'partial' : status, {
    output: resultsText(queue),
    queue,
    failure,
    missing: missingTasks(queue),
  });
};

export const failedOutcome = (cell: Cell, failure: Failure): Outcome =>
  outcome(cell, statusOfFailure(failure), { failure });

export const planOutcome = (cell: Cell, goal: string | null, queue: TaskQueue): Outcome => {
  const tasks = [...queue.tasks()].map(toPlanTask);
  const plan = { goal, tasks };
  return outcome(cell, 'completed', { output: JSON.stringify(plan, null, 2), data: plan });
};

/** A task as written to a plan, without values that equal the default. */
const toPlanTask = ({ id, title, description, assignee, dependsOn, priority, memoryScope, retries, when }: Task) => ({
  id,
  title,
  description,
  ...(assignee === null ? {} : { assignee }),
  ...(dependsOn.length === 0 ? {} : { dependsOn }),
  ...(priority === 0 ? {} : { priority }),
  ...(memoryScope === 'dependencies' ? {} : { memoryScope }),
  ...(retries === 0 ? {} : { retries }),
  ...(when === null ? {} : { when }),
});

const tasksFailure = (missing: readonly Task[]): Failure => {
  const first = missing.find(({ reason }) => reason?.error !== undefined)?.reason;
  const words = missing.slice(0, 5).map(({ title, status, reason }) => `${title} (${status}: ${reason?.text ?? ''})`);
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
  const error = first?.error === undefined ? null : { code: first.error, ...omitUndefined({ limit: first.limit }) };
  return failureLike(error, 'tasks_incomplete', `Not completed: ${words.join('; ')}${more}.`);
};

const answerFailure = (answer: Envelope | undefined): Failure =>
  failureLike(
    answer?.error ?? null,
    'tasks_incomplete',
    answer === undefined ? 'There were no tasks.' : `The coordinator's answer is ${answer.status}.`,
  );

/** The team failed as one of its cells did. */
const failureLike = (error: Pick<Failure, 'code' | 'limit'> | null, otherwise: ErrorCode, detail: string): Failure => ({
  code: error?.code ?? otherwise,
  detail,
  ...omitUndefined({ limit: error?.limit }),
});

const statusOf = (hasResult: boolean, missing: readonly Task[]): Status => {
  if (hasResult) return 'partial';
  return missing.length > 0 && missing.every(({ reason }) => reason?.code === 'budget') ? 'budget' : 'failed';
};

const statusOfFailure = ({ code }: Failure): Status => {
  if (code === 'cancelled') return 'cancelled';
  if (code === 'deadline_passed') return 'timeout';
  return code === 'budget_refused' ? 'budget' : 'failed';
};

type OutcomeParts = {
  readonly output?: string;
  readonly queue?: TaskQueue;
  readonly failure?: Failure;
  readonly data?: Json;
  readonly missing?: readonly Task[];
};

const missingMax = 100;

const outcome = (
  cell: Cell,
  status: Status,
  { output = '', queue, failure, data, missing = [] }: OutcomeParts,
): Outcome => {
  const { runtime } = cell;
  const tasks = queue === undefined ? null : ({ tasks: [...queue.tasks()].map(taskSummary) } as unknown as Json);
  return deepFreeze({
    status,
    output,
    data: data ?? tasks,
    failure: failure ?? null,
    missing: missing.slice(0, missingMax).map(({ id }) => id),
    spent: runtime.spent,
  });
};
