// How REST tells what went wrong: in the words that `--json` has for it.
import { shownFailure } from '#base';
import type { Failure, JsonObject, ShownFailure } from '#base';
import type { ErrorForm } from '#contracts';

export const restError: ErrorForm = (failure) => ({ error: { ...words(failure), ...later(failure) } });

/** How a run failed, as its outcome has it: without what only the cell that failed may know. */
export const failureValue = (failure: Failure): JsonObject => words(shownFailure(failure));

const words = ({ code, class: kind, message, suggestion }: ShownFailure) => ({
  code,
  class: kind,
  message,
  suggestion,
});

const later = ({ retryAfterMs }: ShownFailure) => (retryAfterMs === undefined ? {} : { retryAfterMs });
