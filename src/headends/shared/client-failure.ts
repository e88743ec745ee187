// Failures as HTTP knows them.
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorClass, ErrorCode, Failure } from '#base';
import type { ClientFailure } from '#contracts';

const byClass: Readonly<Record<ErrorClass, number>> = {
  config: 400,
  auth: 502,
  timeout: 504,
  network: 502,
  model: 502,
  tool: 502,
  limit: 422,
  budget: 429,
  policy: 403,
  schema: 502,
  cancelled: 499,
  indeterminate: 500,
};

const byCode: Partial<Record<ErrorCode, number>> = {
  token_refused: 401,
  agent_unknown: 404,
  run_unknown: 404,
  route_unknown: 404,
  mail_unknown: 404,
  conversation_unknown: 404,
  cell_ended: 409,
  run_owned: 409,
  mail_ambiguous: 409,
  conversation_deleted: 409,
  conversation_busy: 409,
  mailbox_full: 429,
  method_refused: 405,
  request_timeout: 408,
  request_too_large: 413,
  goal_too_large: 413,
  context_too_large: 413,
  goal_schema: 400,
  media_refused: 415,
  server_busy: 429,
  rate_exceeded: 429,
  server_stopping: 503,
  model_unpriced: 422,
  // A whole run would be repeated by clients that try again what is 5xx.
  answer_schema: 422,
  // What is wrong with the operator's side is not the client's mistake.
  model_missing: 500,
  store_failed: 500,
  store_damaged: 500,
  store_busy: 503,
  defect: 500,
  replay_differs: 500,
  unattributed: 500,
};

export const httpStatus = (code: ErrorCode): number => byCode[code] ?? byClass[errorCatalogue[code].class];

/** Why a request was not served. What is the client's mistake is told in full; of anything else, only the catalogue's words. */
export const clientError = (error: unknown): ClientFailure => {
  const failure: Failure = error instanceof CloisterError ? error.failure : { code: 'defect' };
  const shown = clientFailure(failure);
  // What went wrong inside is not for strangers; that it is being stopped did not.
  const isInside = shown.status >= 500 && failure.code !== 'server_stopping';
  if (isInside || failure.detail === undefined) return shown;
  return { ...shown, message: `${shown.message} ${failure.detail}` };
};

/** How a run failed: its details stay in the cell that heard them. */
export const clientFailure = ({ code, retryAfterMs }: Failure): ClientFailure => {
  const { class: kind, summary, suggestion, retryable } = errorCatalogue[code];
  const after = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { status: httpStatus(code), code, class: kind, message: summary, suggestion, retryable, ...after };
};
