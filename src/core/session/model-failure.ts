// Maps a provider's error to an error code. The provider's own message becomes the detail, which reaches no other cell.
import { recordedFailure } from '#base';
import type { ErrorCode, Failure } from '#base';

/** `refusedUnprocessed`: the provider did no work, so the attempt cost nothing. */
type ModelFailure = { readonly failure: Failure; readonly refusedUnprocessed: boolean };

type ApiError = {
  readonly message?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Record<string, string>;
};

/**
 * How far a request got. `sent`: nothing has come back. `accepted`: the response is open. `replying`: a part of the reply
 * arrived. The opening event counts as a part: with it, Anthropic already reports usage.
 */
export type RequestStage = 'sent' | 'accepted' | 'replying';

export const modelFailure = (error: unknown, stage: RequestStage): ModelFailure => {
  const own = recordedFailure(error);
  if (own !== null) return { failure: own, refusedUnprocessed: unsentCodes.includes(own.code) };
  const { message, statusCode, responseHeaders } = (
    typeof error === 'object' && error !== null ? error : { message: String(error) }
  ) as ApiError;
  const detail = typeof message !== 'string' || message === '' ? {} : { detail: message };
  const code = failureCode(error, statusCode, stage);
  const retryAfterMs =
    code === 'model_rate' || code === 'model_server' ? parseRetryAfterMs(responseHeaders) : undefined;
  return {
    failure: { code, ...detail, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    refusedUnprocessed:
      // probe: model-refused
      stage !== 'replying' &&
      (statusCode === undefined ? code === 'model_network' && neverConnected(error) : isRefusal(statusCode)),
  };
};

/** With these, nothing was sent. */
const unsentCodes: readonly ErrorCode[] = ['model_unscripted', 'env_missing', 'store_damaged'];

/**
 * Whether the provider itself refused the request. Other statuses of 500 and above, such as 502 and 504, come from something in
 * between, and the provider may have done the work.
 */
const isRefusal = (status: number): boolean =>
  /* probe: model-refusals */ (status >= 400 && status < 500) || status === 500 || status === 503 || status === 529;

const failureCode = (error: unknown, status: number | undefined, stage: RequestStage): Failure['code'] => {
  if (status === undefined && stage !== 'sent') return 'model_cut';
  if (status === undefined) return isConnectionError(error) ? 'model_network' : 'model_server';
  if (status === 401 || status === 403) return 'model_auth';
  if (status === 404) return 'model_unknown';
  if (status === 408) return 'model_timeout';
  if (status === 429) return 'model_rate';
  if (status >= 500) return 'model_server';
  // An abort or a broken body in mid-stream carries the status with which the response started.
  return status >= 400 ? 'model_request' : 'model_cut';
};

const connectErrorCodes = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** A certificate that was not accepted: the connection ends before anything is sent. */
const certificateError = /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/u;

/** Either the SDK's error without a status, or fetch's own: a TypeError with a cause. */
const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'AI_APICallError' || (error instanceof TypeError && error.cause !== undefined));

/** Whether, judging by the error's causes, there was no connection, so nothing can have been processed. */
const neverConnected = (error: unknown): boolean => {
  const codes: string[] = [];
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string') codes.push(code);
  }
  return codes.length === 0 || codes.some((code) => connectErrorCodes.includes(code) || certificateError.test(code));
};

/** Seconds, or a date; that is read by the provider's own clock, which says when it answered. */
const parseRetryAfterMs = (headers: Record<string, string> = {}): number | undefined => {
  const { 'retry-after-ms': ms, 'retry-after': after, date } = headers;
  for (const wait of [Number(ms ?? NaN), Number(after ?? NaN) * 1_000])
    if (Number.isFinite(wait) && wait >= 0) return wait;
  const wait = Date.parse(after ?? '') - Date.parse(date ?? '');
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
};
