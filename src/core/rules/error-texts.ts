// The texts of errors that rules show. They are part of the recorded format; those of the catalogue, for the command line and
// HTTP, may change.
import { errorCatalogue } from '#base';
import type { ErrorClass, ErrorCode } from '#base';

export type ErrorText = { readonly class: ErrorClass; readonly summary: string; readonly suggestion: string };

/**
 * Texts of version 1 that the catalogue no longer has. When a text of the catalogue changes, its old entry is copied here;
 * `test/core/rules/frozen.test.ts` says when that is due.
 */
const changedSince1: Readonly<Partial<Record<ErrorCode, ErrorText>>> = {};

/** Version 1, used by all rules that show errors. A code that this build does not know is shown as a defect. */
export const errorText1 = (code: ErrorCode): ErrorText =>
  changedSince1[code] ?? (Object.hasOwn(errorCatalogue, code) ? errorCatalogue[code] : errorCatalogue.defect);
