// Errors in the form that Anthropic's clients read.
import { errorCatalogue } from '#base';
import type { ClientFailure } from '#contracts';
import type { JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';

/** Anthropic's clients look for a stable name of the cause in `details.error_code`, so our code goes there. */
export const anthropicError: ErrorFormatter = (failure, request): JsonObject => ({
  type: 'error',
  error: {
    type: errorType(failure),
    message: `${failure.message} ${failure.suggestion}`,
    details: { error_code: errorCode(failure) },
  },
  request_id: request,
});

/** For a request that continues a thread: with this code, Anthropic's own client sends the whole dialog again. */
const errorCode = ({ code, message }: ClientFailure): string =>
  code === 'request_unsupported' && message.startsWith(`${errorCatalogue[code].summary} ${noThreads}`)
    ? 'thread_not_found'
    : code;

/** Begins with the name of the field. */
export const noThreads = 'thread: threads are not kept; send earlier messages in `messages`.';

const errorType = ({ status }: ClientFailure): string => {
  const type = errorTypes[status];
  if (type !== undefined) return type;
  return status >= 400 && status < 499 ? 'invalid_request_error' : 'api_error';
};

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};
