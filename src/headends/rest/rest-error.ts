// REST errors, in the same form as the CLI's `--json` output.
import { clientFailure } from '#headends/shared';
import type { ClientFailure } from '#contracts';
import type { Failure, JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';

export const restError: ErrorFormatter = (failure) => ({ error: { ...publicFields(failure), ...retryField(failure) } });

/** The failure in an outcome, without the detail, which only the failed cell may know. */
export const restFailureJson = (failure: Failure): JsonObject => publicFields(clientFailure(failure));

const publicFields = ({ code, class: kind, message, suggestion, limit }: ClientFailure) => ({
  code,
  class: kind,
  message,
  suggestion,
  ...(limit === undefined ? {} : { limit }),
});

const retryField = ({ retryAfterMs }: ClientFailure) => (retryAfterMs === undefined ? {} : { retryAfterMs });
