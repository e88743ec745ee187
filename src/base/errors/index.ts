// Failures as data and as errors, with the texts of the catalogue.
import { errorCatalogue } from './catalogue.ts';
import type { ErrorCode } from './catalogue.ts';
import type { ErrorClass } from './error-entry.ts';
import { limitBehind } from './limit-name.ts';
import type { LimitName } from './limit-name.ts';
import { errorText1 } from './recorded-text.ts';
import { storageErrors } from './storage.ts';

export { errorCatalogue } from './catalogue.ts';
export type { ErrorCode } from './catalogue.ts';
export type { ErrorClass } from './error-entry.ts';
export { limitBehind, limitNames, limitSentence } from './limit-name.ts';
export type { LimitName } from './limit-name.ts';
export { errorText1 } from './recorded-text.ts';

/** A failure as data. `detail` is what the outside world reported; it reaches no other cell; people see it if they may see causes. */
export type Failure = {
  /** Stable, for programs; docs/ERRORS.md lists all of them. */
  readonly code: ErrorCode;
  /** What a tool, a provider or a server said. Secrets are redacted. */
  readonly detail?: string;
  /** How long the provider asks to wait. */
  readonly retryAfterMs?: number;
  /** Set where the code alone does not say which limit was reached. */
  readonly limit?: LimitName;
};

/** The part of a failure that another cell may see, as it is recorded. */
export type PublicFailure = {
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly summary: string;
  readonly suggestion: string;
  /** Absent: the failure has another cause. */
  readonly limit?: LimitName;
};

export const publicFailure = (failure: Failure): PublicFailure => {
  const { class: kind, summary, suggestion } = errorText1(failure.code);
  const limit = limitBehind(failure);
  return { code: failure.code, class: kind, summary, suggestion, ...(limit === undefined ? {} : { limit }) };
};

/** Whether the log of a run can hold this code: formats name those that it can. */
const isRecordedCode = (code: ErrorCode): boolean => !Object.hasOwn(storageErrors, code);

/** What a log holds of an error that a tool or a model threw; null if that is not one of its own. */
export const recordedFailure = (error: unknown): Failure | null =>
  error instanceof CloisterError && isRecordedCode(error.code) ? error.failure : null;

/** Whether the runtime writes the detail about the run's own answer: nothing in it comes from a service of the operator. */
export const isDetailOfAnswer = (code: ErrorCode): boolean => code === 'plan_invalid';

/**
 * What this library throws when something cannot be done: a wrong option, an unknown run, a model without a key. `code` is for
 * programs, `message` and `suggestion` are for people.
 */
export class CloisterError extends Error {
  /** The failure as data. */
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
  /** Stable: it never changes its meaning. */
  get code(): ErrorCode {
    return this.failure.code;
  }
  /** What to do about it. */
  get suggestion(): string {
    return errorCatalogue[this.failure.code].suggestion;
  }
}
