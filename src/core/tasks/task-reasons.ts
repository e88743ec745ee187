// What the end of a cell that worked on a task means for the task; and a task in a few words.
import type { Failure } from '#base';
import type { Envelope, Task, TaskReason } from '#contracts';

/** Stopped before it was done. */
export const abortedReason = (text: string): TaskReason => ({ code: 'aborted', text });

/** Why a task was not completed, and whether it counts as not done at all: then it is not tried again. */
export const resultReason = (ended: Envelope | Failure): { readonly skips: boolean; readonly reason: TaskReason } => {
  if ('code' in ended)
    return { skips: false, reason: { code: 'failed', error: ended.code, text: `it failed (${ended.code})` } };
  const { status, error, output } = ended;
  const why = error === null ? {} : { error: error.code };
  // Refused before it had said anything: nothing of it was done.
  if (status === 'budget' && output === '' && error?.code === 'budget_refused')
    return { skips: true, reason: { code: 'budget', status, ...why, text: 'it cannot be afforded' } };
  if (status === 'cancelled')
    return { skips: true, reason: { code: 'aborted', status, ...why, text: 'it was stopped' } };
  const words = error === null ? status : `${status}: ${error.code}`;
  return { skips: false, reason: { code: 'failed', status, ...why, text: `it did not complete (${words})` } };
};

/** The name of the operation that says that a task could not begin. */
export const refusedName = 'task:refused';

/** The same for all that has not started: it will not be. */
export const skippedName = 'team:skip-rest';

/** Why a task could not begin. */
export const refusalReason = ({ code, detail = code }: Failure): TaskReason => ({
  code: code === 'budget_refused' ? 'budget' : 'failed',
  error: code,
  text: detail,
});

/** Without its texts, which may be long. */
export const taskSummary = ({ id, title, assignee, dependsOn, status, attempts, reason }: Task) => ({
  id,
  title,
  assignee,
  dependsOn,
  status,
  attempts,
  ...(reason === null ? {} : { reason }),
});
