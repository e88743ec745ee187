// Failures as an HTTP client sees them: a status, and the texts of the catalogue.
import { CloisterError, errorCatalogue, isDetailOfAnswer, limitBehind, omitUndefined } from '#base';
import type { ErrorClass, ErrorCode, Failure } from '#base';
import { describeCause } from '#contracts';
import type { Cause, ClientFailure } from '#contracts';

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
  signature_refused: 401,
  agent_unknown: 404,
  run_unknown: 404,
  cell_unknown: 404,
  route_unknown: 404,
  attachment_unknown: 404,
  mail_unknown: 404,
  conversation_unknown: 404,
  checkpoint_unknown: 404,
  question_unknown: 404,
  question_answered: 409,
  question_changed: 409,
  question_stale: 409,
  answer_invalid: 422,
  // The run waits for a person; the same request again would start another one.
  approval_needed: 409,
  file_missing: 404,
  cell_ended: 409,
  run_owned: 409,
  run_ended: 409,
  run_exists: 409,
  run_kept: 409,
  run_lost: 409,
  archive_invalid: 422,
  key_reused: 422,
  mail_ambiguous: 409,
  conversation_deleted: 409,
  conversation_busy: 409,
  conversation_shared: 409,
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
  // Not 5xx: clients retry those by themselves, and would repeat a whole run.
  answer_schema: 422,
  plan_invalid: 422,
  // These are problems of the operator, not mistakes of the client.
  model_missing: 500,
  env_missing: 500,
  store_failed: 500,
  store_unreadable: 500,
  store_damaged: 500,
  workspace_format: 500,
  run_format: 500,
  store_busy: 503,
  defect: 500,
  replay_differs: 500,
  unattributed: 500,
};

export const httpStatus = (code: ErrorCode): number => byCode[code] ?? byClass[errorCatalogue[code].class];

/** Why a request was not served. A client's mistake is reported with its detail; anything else only with the texts of the catalogue. */
export const clientError = (error: unknown): ClientFailure => {
  const failure: Failure = error instanceof CloisterError ? error.failure : { code: 'defect' };
  if (error instanceof RunFailedError) return clientFailure(failure, error.causes);
  const shown = clientFailure(failure);
  // Clients must not see the details of an internal failure. `server_stopping` is a 503 but not an internal failure.
  const isInside = (shown.status >= 500 && failure.code !== 'server_stopping') || failure.code === 'run_lost';
  if (isInside || failure.detail === undefined) return shown;
  return { ...shown, message: `${errorCatalogue[failure.code].summary} ${failure.detail}` };
};

/** A run without an answer. Its causes are told; for a caller who does not see them, there are none. */
export class RunFailedError extends CloisterError {
  readonly causes: readonly Cause[];
  constructor({ code, retryAfterMs }: Failure, causes: readonly Cause[] = []) {
    super(code, undefined, retryAfterMs === undefined ? {} : { retryAfterMs });
    this.causes = causes;
  }
}

const [causesMax, causeCharsMax] = [10, 500];

/** The causes as the end of a message, one on each line; empty if there are none. */
export const causesText = (causes: readonly Cause[]): string => {
  const texts = causes.slice(0, causesMax).map((cause) => {
    const text = describeCause(cause).replace(/\s+/gu, ' ');
    return `\n${text.length <= causeCharsMax ? text : `${text.slice(0, causeCharsMax)}…`}`;
  });
  return `${texts.join('')}${causes.length > causesMax ? `\n… ${causes.length - causesMax} more` : ''}`;
};

/**
 * How a run failed. Most details stay in the cell where the failure happened. `causes`: what a caller who sees causes is told
 * about it.
 */
export const clientFailure = (failure: Failure, causes: readonly Cause[] = []): ClientFailure => {
  const { code, detail = '', retryAfterMs } = failure;
  const { class: kind, summary, suggestion, retryable } = errorCatalogue[code];
  const isTold = causes.length === 0 && isDetailOfAnswer(code) && detail !== '';
  const message = isTold ? `${summary} ${detail}` : `${summary}${causesText(causes)}`;
  const more = omitUndefined({ retryAfterMs, limit: limitBehind(failure) });
  return { status: httpStatus(code), code, class: kind, message, suggestion, retryable, ...more };
};

/** What happened and what to do, for a protocol that has one text for both. */
export const failureWithAdvice = ({ message, suggestion }: ClientFailure): string =>
  `${message}${message.includes('\n') ? '\n' : ' '}${suggestion}`;

/** Added to a refusal that the operator could lift, and to no other. */
export const operatorHints = {
  system: 'The operator can allow it with --allow-system.',
  tools: 'The operator can allow them with --allow-tools.',
  otherTools: 'The other tools need --allow-tools.',
  compat: 'The operator can have it ignored with --compat.',
} as const;
