// The one place where an outcome becomes an exit code.
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorClass } from '#base';
import type { Outcome } from '#contracts';
import { UsageError } from './usage-error.ts';

export const exitCode = {
  completed: 0,
  /** Configuration errors, and audits that found problems. */
  config: 1,
  model: 2,
  tool: 3,
  usage: 4,
  unfinished: 5,
  cancelled: 130,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

const ofClass: Readonly<Record<ErrorClass, ExitCode>> = {
  config: exitCode.config,
  policy: exitCode.config,
  auth: exitCode.model,
  network: exitCode.model,
  model: exitCode.model,
  tool: exitCode.tool,
  indeterminate: exitCode.tool,
  timeout: exitCode.unfinished,
  limit: exitCode.unfinished,
  budget: exitCode.unfinished,
  schema: exitCode.unfinished,
  cancelled: exitCode.cancelled,
};

export const exitOfOutcome = ({ status, failure }: Pick<Outcome, 'status' | 'failure'>): ExitCode => {
  switch (status) {
    case 'completed':
      return exitCode.completed;
    case 'partial':
    case 'limit':
    case 'budget':
    case 'timeout':
      return exitCode.unfinished;
    case 'cancelled':
      return exitCode.cancelled;
    case 'failed':
      return failure === null ? exitCode.config : ofClass[errorCatalogue[failure.code].class];
  }
};

/** Any other error is a defect and counts as a configuration error. */
export const exitOfError = (error: unknown): ExitCode => {
  if (error instanceof UsageError) return exitCode.usage;
  return error instanceof CloisterError ? ofClass[errorCatalogue[error.code].class] : exitCode.config;
};
