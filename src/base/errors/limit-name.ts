// The name of the limit behind a failure. It may cross to another cell, so it is one of a fixed list, and never an amount.
import type { ErrorCode } from './catalogue.ts';

/** As in agent files. `budget` and `deadline` may be an ancestor's or the run's: whose they are, and what is left, is not said. */
export const limitNames = [
  'max_steps',
  'max_output_files',
  'max_output_size_bytes',
  'timeout_ms',
  'mailTimeout',
  'maxToolTurns',
  'llmTimeout',
  'contextTokensMax',
  'maxHops',
  'answersPerMinute',
  'budget',
  'deadline',
] as const;

export type LimitName = (typeof limitNames)[number];

/** Codes that always stand for the same limit. */
const limitOfCode: Readonly<Partial<Record<ErrorCode, LimitName>>> = {
  turns_used: 'maxToolTurns',
  model_timeout: 'llmTimeout',
  budget_refused: 'budget',
  budget_overdrawn: 'budget',
  deadline_passed: 'deadline',
};

type LimitFailure = { readonly code: ErrorCode; readonly limit?: LimitName };

/** The limit that was reached; undefined if the failure has another cause. */
export const limitBehind = ({ code, limit }: LimitFailure): LimitName | undefined => limit ?? limitOfCode[code];

/** What follows the summary of an error: a sentence with the limit, if there is one. An unknown name can only come from a changed log. */
export const limitSentence = ({ limit }: { readonly limit?: LimitName }): string =>
  limit !== undefined && limitNames.includes(limit) ? ` Limit: ${limit}.` : '';
