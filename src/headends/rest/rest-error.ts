// How REST tells what went wrong: in the words that `--json` has for it.
import { clientFailure } from '#headends/shared';
import type { ClientFailure } from '#contracts';
import type { Failure, JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';

export const restError: ErrorFormatter = (failure) => ({ error: { ...words(failure), ...later(failure) } });

/** How a run failed, as its outcome has it: without what only the cell that failed may know. */
export const restFailureJson = (failure: Failure): JsonObject => words(clientFailure(failure));

const words = ({ code, class: kind, message, suggestion }: ClientFailure) => ({
  code,
  class: kind,
  message,
  suggestion,
});

const later = ({ retryAfterMs }: ClientFailure) => (retryAfterMs === undefined ? {} : { retryAfterMs });
