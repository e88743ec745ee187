// A failure as the command line reports it: one JSON value, or lines for people.
import { CloisterError, errorCatalogue, limitBehind, omitUndefined } from '#base';
import type { Failure, LimitName } from '#base';
import { sanitizeLine } from './sanitize-text.ts';
import { UsageError } from './usage-error.ts';

export type ErrorValue = {
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
