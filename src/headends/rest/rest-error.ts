// REST errors, in the same form as the CLI's `--json` output.
import { clientFailure } from '#headends/shared';
import type { Cause, ClientFailure } from '#contracts';
import type { Failure, JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';

export const restError: ErrorFormatter = (failure) => ({ error: { ...publicFields(failure), ...retryField(failure) } });

/** A failure in an outcome or an answer. Its detail is told only with its causes, to a caller who sees them. */
export const restFailureJson = (failure: Failure, causes?: readonly Cause[]): JsonObject =>
  publicFields(clientFailure(failure, causes));

const publicFields = ({ code, class: kind, message, suggestion, limit }: ClientFailure) => ({
  code,
  class: kind,
  message,
  suggestion,
  ...(limit === undefined ? {} : { limit }),
});

const retryField = ({ retryAfterMs }: ClientFailure) => (retryAfterMs === undefined ? {} : { retryAfterMs });
