// The shape of one entry of the error catalogue.
/** The kind of a failure: what it has to do with. */
export type ErrorClass =
  | 'config'
  | 'auth'
  | 'timeout'
  | 'network'
  | 'model'
  | 'tool'
  | 'limit'
  | 'budget'
  | 'policy'
  | 'schema'
  | 'cancelled'
  | 'indeterminate';

export type ErrorEntry = {
  readonly class: ErrorClass;
  readonly retryable: boolean;
  readonly summary: string;
  readonly suggestion: string;
};

export const errorEntry = (kind: ErrorClass, retryable: boolean, summary: string, suggestion: string): ErrorEntry => ({
  class: kind,
  retryable,
  summary,
  suggestion,
});
