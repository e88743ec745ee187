// What a provider threw, as an entry of the catalogue. Its own words are kept as detail, in this cell only.
import { CloisterError } from '#base';
import type { Failure } from '#base';

/** `refusedUnprocessed`: the provider did no work, so the attempt cost nothing. */
export type ModelFailure = { readonly failure: Failure; readonly refusedUnprocessed: boolean };

type ApiError = {
  readonly message?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Record<string, string>;
};

/** `streaming`: the provider had begun to answer. */
export const modelFailure = (error: unknown, streaming: boolean): ModelFailure => {
  if (error instanceof CloisterError)
    return { failure: error.failure, refusedUnprocessed: error.code === 'model_unscripted' };
  const { message, statusCode, responseHeaders } = (
    typeof error === 'object' && error !== null ? error : { message: String(error) }
  ) as ApiError;
  const detail = typeof message !== 'string' || message === '' ? {} : { detail: message };
  const code = codeOf(error, statusCode, streaming);
  const retryAfterMs = code === 'model_rate' || code === 'model_server' ? retryAfter(responseHeaders) : undefined;
  return {
    failure: { code, ...detail, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    refusedUnprocessed:
      !streaming &&
      ((code === 'model_network' && neverConnected(error)) ||
        (statusCode !== undefined && statusCode >= 400 && statusCode < 500)),
  };
};

const codeOf = (error: unknown, status: number | undefined, streaming: boolean): Failure['code'] => {
  if (status === undefined && streaming) return 'model_cut';
  if (status === undefined) return isConnectionError(error) ? 'model_network' : 'model_server';
  if (status === 401 || status === 403) return 'model_auth';
  if (status === 404) return 'model_unknown';
  if (status === 408) return 'model_timeout';
  if (status === 429) return 'model_rate';
  if (status >= 500) return 'model_server';
  // An abort or a broken body in mid-stream surfaces with the status of its beginning.
  return status >= 400 ? 'model_request' : 'model_cut';
};

const unconnected = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** The SDK's error without a status, or what fetch throws: a TypeError that says what caused it. */
const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'AI_APICallError' || (error instanceof TypeError && error.cause !== undefined));

/** Whether nothing can have been processed: there was no connection, as far as the causes say. */
const neverConnected = (error: unknown): boolean => {
  const codes: string[] = [];
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string') codes.push(code);
  }
  return codes.length === 0 || codes.some((code) => unconnected.includes(code));
};

const retryAfter = (headers: Record<string, string> | undefined): number | undefined => {
  const ms = Number(headers?.['retry-after-ms']);
  if (Number.isFinite(ms) && ms >= 0 && headers?.['retry-after-ms'] !== undefined) return ms;
  const seconds = Number(headers?.['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 && headers?.['retry-after'] !== undefined
    ? seconds * 1_000
    : undefined;
};
