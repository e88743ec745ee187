// The closed catalogue of every failure Cloister reports.
//
//   E1. A code never changes its meaning; docs/ERRORS.md lists each one.
//   E2. Only an entry of this table may cross to another cell; `detail` stays in the cell that received it.
import type { ErrorClass } from './error-entry.ts';
import { runtimeErrors } from './runtime.ts';
import { definitionErrors } from './definition.ts';
import { httpErrors } from './http.ts';

export type { ErrorClass } from './error-entry.ts';

export const errorCatalogue = { ...definitionErrors, ...runtimeErrors, ...httpErrors };

export type ErrorCode = keyof typeof errorCatalogue;

/** A failure as data. `detail` is what the outside world reported; it never leaves the cell that received it. */
export type Failure = { readonly code: ErrorCode; readonly detail?: string; readonly retryAfterMs?: number };

/** The part of a failure that another cell may see. */
export type PublicFailure = {
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly summary: string;
  readonly suggestion: string;
};

export const publicFailure = (failure: Failure): PublicFailure => {
  const { class: kind, summary, suggestion } = errorCatalogue[failure.code];
  return { code: failure.code, class: kind, summary, suggestion };
};

export class CloisterError extends Error {
  readonly failure: Failure;
  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(detail === undefined ? errorCatalogue[code].summary : `${errorCatalogue[code].summary} ${detail}`, options);
    this.name = 'CloisterError';
    this.failure = {
      code,
      ...(detail === undefined ? {} : { detail }),
      ...(options?.retryAfterMs === undefined ? {} : { retryAfterMs: options.retryAfterMs }),
    };
  }
  get code(): ErrorCode {
    return this.failure.code;
  }
  get suggestion(): string {
    return errorCatalogue[this.failure.code].suggestion;
  }
}
