// What went wrong, in the form and with the words that clients of OpenAI look for.
import type { ClientFailure } from '#contracts';
import { errorCatalogue } from '#base';
import type { ErrorCode } from '#base';
import type { ErrorFormatter } from '#contracts';

export const openaiError: ErrorFormatter = (failure) => ({
  error: {
    message: openaiMessage(failure),
    type: typeOf(failure),
    param: paramOf(failure),
    code: openaiCode(failure),
  },
});

/** The field that is named before what is wrong with it, if one is. */
const paramOf = ({ code, message }: ClientFailure): string | null => {
  if (code !== 'request_invalid' && code !== 'request_unsupported') return null;
  const { summary } = errorCatalogue[code];
  return pathForm.exec(message.slice(summary.length + 1))?.[1] ?? null;
};

/** As `input[0].content: …`. */
const pathForm = /^([a-z_]\w*(?:\.[a-z_]\w*|\[\d+\])*): /iu;

/** The form has no place of its own for what to do next. */
export const openaiMessage = ({ message, suggestion }: ClientFailure): string => `${message} ${suggestion}`;

/** Those that clients act on; any other is told by its own name. */
export const openaiCode = (failure: ClientFailure): string => {
  if (failure.status === 429) return isQuota(failure) ? 'insufficient_quota' : 'rate_limit_exceeded';
  return known[failure.code] ?? failure.code;
};

const known: Partial<Record<ErrorCode, string>> = {
  agent_unknown: 'model_not_found',
  token_refused: 'invalid_api_key',
  window_full: 'context_length_exceeded',
};

const typeOf = (failure: ClientFailure): string => {
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

/** To wait a little does not help: what may be spent is spent. */
const isQuota = (failure: ClientFailure): boolean => failure.class === 'budget';
