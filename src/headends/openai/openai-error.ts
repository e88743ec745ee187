// Errors in the form and with the codes that OpenAI's clients look for.
import type { ClientFailure } from '#contracts';
import { errorCatalogue } from '#base';
import type { ErrorCode } from '#base';
import type { ErrorFormatter } from '#contracts';

export const openaiError: ErrorFormatter = (failure) => ({
  error: {
    message: openaiMessage(failure),
    type: errorType(failure),
    param: fieldPath(failure),
    code: openaiCode(failure),
  },
});

/** The field that the message begins with, if any. */
const fieldPath = ({ code, message }: ClientFailure): string | null => {
  if (code !== 'request_invalid' && code !== 'request_unsupported') return null;
  const { summary } = errorCatalogue[code];
  return pathPrefix.exec(message.slice(summary.length + 1))?.[1] ?? null;
};

/** For example `input[0].content: …`. */
const pathPrefix = /^([a-z_]\w*(?:\.[a-z_]\w*|\[\d+\])*): /iu;

/** OpenAI's format has no field for the suggestion, so it is appended to the message. */
export const openaiMessage = ({ message, suggestion }: ClientFailure): string => `${message} ${suggestion}`;

/** OpenAI's own code where clients act on it; else our code. */
export const openaiCode = (failure: ClientFailure): string => {
  if (failure.status === 429) return isQuota(failure) ? 'insufficient_quota' : 'rate_limit_exceeded';
  return openaiCodes[failure.code] ?? failure.code;
};

const openaiCodes: Partial<Record<ErrorCode, string>> = {
  agent_unknown: 'model_not_found',
  token_refused: 'invalid_api_key',
  window_full: 'context_length_exceeded',
};

const errorType = (failure: ClientFailure): string => {
  if (failure.status >= 500) return 'server_error';
  switch (failure.status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 429:
      return isQuota(failure) ? 'insufficient_quota' : 'rate_limit_error';
    default:
      return 'invalid_request_error';
  }
};

/** Waiting does not help, because the budget is used up. */
const isQuota = (failure: ClientFailure): boolean => failure.class === 'budget';
