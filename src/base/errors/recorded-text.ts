// The texts of errors that are recorded: rules show them, and an envelope carries them to another cell. The texts of the
// catalogue, for the command line and HTTP, may change.
import type { ErrorClass } from './error-entry.ts';
import { errorCatalogue } from './catalogue.ts';
import type { ErrorCode } from './catalogue.ts';

type ErrorText = { readonly class: ErrorClass; readonly summary: string; readonly suggestion: string };

/**
 * Texts of version 1 that the catalogue no longer has. When a text of the catalogue changes, its old entry is copied here;
 * `test/core/rules/frozen.test.ts` says when that is due.
 */
const changedSince1: Readonly<Partial<Record<ErrorCode, ErrorText>>> = {
  request_unsupported: {
    class: 'config',
    summary: 'The request uses a feature that is not supported.',
    suggestion: 'Remove what the message names.',
  },
  question_answered: {
    class: 'config',
    summary: 'The question has been answered, or no longer waits for an answer.',
    suggestion: 'Nothing has to be done. List the open ones with `cloister questions`.',
  },
};

/** Version 1, used by every format so far. A code that this build does not know is shown as a defect. */
export const errorText1 = (code: ErrorCode): ErrorText =>
  changedSince1[code] ?? (Object.hasOwn(errorCatalogue, code) ? errorCatalogue[code] : errorCatalogue.defect);
