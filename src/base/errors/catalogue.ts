// The closed catalogue of every failure Cloister reports.
//
//   error-code-keeps-meaning. A code never changes its meaning; docs/ERRORS.md lists each one.
//   error-detail-stays. Only an entry of this table may cross to another cell; `detail` stays in the cell that received it.
import { runtimeErrors } from './runtime.ts';
import { definitionErrors } from './definition.ts';
import { httpErrors } from './http.ts';
import { questionErrors } from './questions.ts';
import { storageErrors } from './storage.ts';

export const errorCatalogue = {
  ...definitionErrors,
  ...runtimeErrors,
  ...httpErrors,
  ...questionErrors,
  ...storageErrors,
};

/** The code of a failure; docs/ERRORS.md says what each one means and what to do. */
export type ErrorCode = keyof typeof errorCatalogue;
