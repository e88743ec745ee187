// Errors in the form that Anthropic's clients read.
import type { ClientFailure } from '#contracts';
import type { JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';

/** Anthropic's clients look for a stable name of the cause in `details.error_code`, so our code goes there. */
export const anthropicError: ErrorFormatter = (failure, request): JsonObject => ({
  type: 'error',
  error: {
    type: errorType(failure),
    message: `${failure.message} ${failure.suggestion}`,
    details: { error_code: failure.code },
  },
  request_id: request,
});

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
