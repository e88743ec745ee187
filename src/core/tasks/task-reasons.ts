// What the end of a task's cell means for the task, and a short summary of a task.
import type { Failure } from '#base';
import type { Envelope, Task, TaskReason } from '#contracts';
import type { TeamTexts } from './team-texts.ts';

/** The task was stopped before it was done. */
export const abortedReason = (text: string): TaskReason => ({ code: 'aborted', text });

/** Why a task was not completed. `skips`: it counts as skipped, so it is not retried. */
export const resultReason = (
  ended: Envelope | Failure,
  { reasons }: TeamTexts,
): { readonly skips: boolean; readonly reason: TaskReason } => {
  if ('code' in ended)
    return { skips: false, reason: { code: 'failed', error: ended.code, text: reasons.failed(ended.code) } };
  const { status, error, output } = ended;
  const errorField = error === null ? {} : { error: error.code, ...limitField(error) };
  // The budget refused the task before it produced any output.
  if (status === 'budget' && output === '' && error?.code === 'budget_refused')
    return { skips: true, reason: { code: 'budget', status, ...errorField, text: reasons.budget } };
  if (status === 'cancelled')
    return { skips: true, reason: { code: 'aborted', status, ...errorField, text: reasons.cancelled } };
  const cause = error === null ? status : `${status}: ${error.limit ?? error.code}`;
  return { skips: false, reason: { code: 'failed', status, ...errorField, text: reasons.notCompleted(cause) } };
};

const limitField = ({ limit }: Pick<TaskReason, 'limit'>): Pick<TaskReason, 'limit'> =>
  limit === undefined ? {} : { limit };

/** The name of the operation that records that a task could not begin. */
export const taskRefusedOperation = 'task:refused';

/** The name of the operation that records that all unstarted tasks are skipped. */
export const skipRestOperation = 'team:skip-rest';

/** Why a task could not begin. */
export const refusalReason = ({ code, detail = code }: Failure): TaskReason => ({
  code: code === 'budget_refused' ? 'budget' : 'failed',
  error: code,
  text: detail,
});

/** A task without its description and result, which may be long. */
export const taskSummary = ({ id, title, assignee, dependsOn, status, attempts, reason }: Task) => ({
  id,
  title,
  assignee,
  dependsOn,
  status,
  attempts,
  ...(reason === null ? {} : { reason }),
});
