// How a command fails: a usage error, an exit code, and what is printed: one JSON value, or lines for people.
import { CloisterError, errorCatalogue, limitBehind, omitUndefined } from '#base';
import type { ErrorClass, ErrorCode, Failure, LimitName } from '#base';
import type { Outcome } from '#contracts';
import { sanitizeLine } from './sanitize-text.ts';

/** A mistake on the command line. `help` is set if the whole help should be printed instead. */
export class UsageError extends Error {
  readonly suggestion: string;
  readonly help: string | null;
  constructor(message: string, suggestion: string, help: string | null = null) {
    super(message);
    this.name = 'UsageError';
    this.suggestion = suggestion;
    this.help = help;
  }
}

/** The one place where an outcome becomes an exit code. */
export const exitCode = {
  completed: 0,
  /** Configuration errors, and audits that found problems. */
  config: 1,
  model: 2,
  tool: 3,
  usage: 4,
  unfinished: 5,
  /** The run waits for people, and was left so that it can be continued. */
  waiting: 6,
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
      return failure === null ? exitCode.config : exitOfCode(failure.code);
  }
};

/** A run that waits for people has not failed. */
const exitOfCode = (code: ErrorCode): ExitCode =>
  code === 'approval_needed' ? exitCode.waiting : ofClass[errorCatalogue[code].class];

/** Any other error is a defect and counts as a configuration error. */
export const exitOfError = (error: unknown): ExitCode => {
  if (error instanceof UsageError) return exitCode.usage;
  return error instanceof CloisterError ? exitOfCode(error.code) : exitCode.config;
};

type ErrorValue = {
  readonly code: string;
  readonly class: string;
  readonly message: string;
  readonly suggestion: string;
  readonly limit?: LimitName;
};

export const cliFailureJson = (failure: Failure): ErrorValue => {
  const { code, detail } = failure;
  const { class: kind, summary, suggestion } = errorCatalogue[code];
  const message = detail === undefined ? summary : `${summary} ${detail}`;
  return { code, class: kind, message, suggestion, ...omitUndefined({ limit: limitBehind(failure) }) };
};

export const errorValue = (error: unknown): ErrorValue => {
  if (error instanceof UsageError)
    return { code: 'usage', class: 'usage', message: error.message, suggestion: error.suggestion };
  if (error instanceof CloisterError) return cliFailureJson(error.failure);
  return { ...cliFailureJson({ code: 'defect' }), message: messageOf(error) };
};

const listed: ReadonlySet<string> = new Set([
  'agent_file_invalid',
  'env_missing',
  'fork_invalid',
  'tasks_invalid',
  'tokens_invalid',
]);

/** Problems in files and lists of operations get one line per item; any other message is put on one line. */
export const errorLines = ({ code, message, suggestion }: ErrorValue): readonly string[] => {
  const [first = '', ...more] = listed.has(code) ? message.trim().split(/\s*\n\s*/u) : [message];
  return [
    `error: ${sanitizeLine(first)}`,
    ...more.map((line) => `  ${sanitizeLine(line)}`),
    `try: ${sanitizeLine(suggestion)}`,
  ];
};

const messageOf = (error: unknown): string => {
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  return String(error);
};
