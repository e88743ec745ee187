// Why something in a run failed, for those who may see causes. No model is ever shown one.
//
//   failure-by-sees. How much of one failure a reader is shown: events, reports, outcomes and answers use this.
import { isDetailOfAnswer } from '#base';
import type { CellId, ErrorCode, Failure, LimitName } from '#base';
import type { Outcome } from './session.ts';
import { seesCauses } from './token.ts';
import type { Sees } from './token.ts';

/** One failure in one cell of a run. */
export type Cause = {
  /** The cell in which it happened. */
  readonly cell: CellId;
  /** The agents from the root down to the one in whose cell it happened. */
  readonly path: readonly string[];
  /** Epoch milliseconds; of several, the last. */
  readonly at: number;
  /** `agent`: the agent of the cell itself, or one that it could not start. */
  readonly what: 'tool' | 'model' | 'server' | 'limit' | 'plan' | 'answer' | 'task' | 'agent';
  /** The tool, model, limit, task or agent; null for the others, which `detail` names. */
  readonly name: string | null;
  /** Stable, for programs; docs/ERRORS.md lists all of them. */
  readonly code: ErrorCode;
  /** The text of the catalogue. */
  readonly summary: string;
  /** The limit that was reached, if that is the cause. */
  readonly limit?: LimitName;
  /** Its own words: a tool's error text, a provider's message, the problems of a plan. Secrets are redacted. */
  readonly detail?: string;
  /** How often it happened in a row. */
  readonly times: number;
  /** Whether the cell ended with it. */
  readonly ended: boolean;
};

/** One cause as text: `lead › researcher: tool read_file failed: ENOENT: no such file`. */
export const describeCause = (cause: Cause): string => {
  const { path, detail, summary, times, what, limit } = cause;
  // The name of a limit is said already. The words of a provider or of an agent's own end may say nothing without the summary.
  const needsSummary = (what === 'agent' || what === 'model') && limit === undefined;
  const said = detail === undefined ? summary : needsSummary ? `${summary} ${detail}` : detail;
  return `${path.join(' › ')}: ${describeFailed(cause)}: ${said}${times === 1 ? '' : ` (${times} times)`}`;
};

const describeFailed = ({ what, name, path, ended }: Cause): string => {
  switch (what) {
    case 'tool':
    case 'model':
      return `${what} ${name} failed`;
    case 'server':
      return 'a tool server failed';
    case 'limit':
      return `limit ${name} reached`;
    case 'plan':
      return 'the plan was rejected';
    case 'answer':
      return 'the answer was rejected';
    case 'task':
      return `task ${name} was not started`;
    case 'agent':
      return ended || name === path.at(-1) ? 'failed' : `agent ${name} gave no answer`;
  }
};

/** Whether an error says that a message gets no answer, not that the work on it failed. Every reader sees its detail. */
export const isMessageError = (code: ErrorCode): boolean => code === 'cell_ended' || code === 'mail_unknown';

/** Without its detail for a reader who does not see causes, unless the detail is about the run's own answer. */
export const failureAsSeen = (failure: Failure, sees: Sees | undefined): Failure => {
  // probe: failure-by-sees
  if (failure.detail === undefined || seesCauses(sees) || isDetailOfAnswer(failure.code)) return failure;
  const { detail: _detail, ...visible } = failure;
  return visible;
};

/** The same for the failure of an outcome. */
export const outcomeAsSeen = <O extends Outcome>(outcome: O, sees: Sees | undefined): O =>
  outcome.failure === null ? outcome : { ...outcome, failure: failureAsSeen(outcome.failure, sees) };
