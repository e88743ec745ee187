// Runs as JSON. An outcome has the same shape as in `cloister run --json`.
import { clientFailure } from '#headends/shared';
import { limitBehind, omitUndefined } from '#base';
import type { ErrorCode, Failure, JsonObject } from '#base';
import { readsAllRuns, seesCauses } from '#contracts';
import type {
  Answer,
  Caller,
  Cause,
  CellReport,
  ConversationRef,
  ListedRun,
  RouteReply,
  RunOutcome,
  RunReport,
} from '#contracts';
import { restFailureJson } from './rest-error.ts';

/** `causes`: undefined for a caller who does not see them. */
export const restOutcomeJson = (
  { run, status, output, data, failure, spent, missing, spawned = [] }: OutcomeOrState,
  causes: readonly Cause[] | undefined,
): JsonObject => ({
  run,
  status,
  output,
  data,
  error: failure === null ? null : restFailureJson(failure, causes?.filter(isEndOfRun)),
  spent,
  missing,
  spawned,
  ...omitUndefined({ causes }),
});

const isEndOfRun = ({ ended, path }: Cause): boolean => ended && path.length === 1;

/** An outcome, or the current state of a run that has none. */
type OutcomeOrState = Omit<RunOutcome, 'status' | 'cell'> & { readonly status: RunReport['status'] };

export const reportedOutcome = (report: RunReport): OutcomeOrState => {
  const outcome = report.cells.find(({ parent }) => parent === null)?.outcome ?? null;
  const { run, status, output, spent } = report;
  return outcome === null
    ? { run, status, output, spent, data: null, failure: null, missing: [] }
    : { ...outcome, run, status };
};

/** A partial answer is an answer; the output of a failed or cancelled run is not. */
const hasAnswer = ({ status, output }: OutcomeOrState): boolean =>
  output !== '' && status !== 'failed' && status !== 'cancelled';

/** A failure that is sent as an outcome also tells the client, in headers, whether to retry. */
export const outcomeReply = (ended: OutcomeOrState, body: JsonObject): RouteReply => {
  const { failure } = ended;
  if (failure === null || hasAnswer(ended)) return { status: 200, body };
  const { status, code, retryable, retryAfterMs } = clientFailure(failure);
  const headers = {
    'x-should-retry': retryable ? 'true' : 'false',
    ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
  };
  return { status, body, headers, code };
};

export const detailsJson = ({ cells, events }: RunReport): JsonObject => ({
  cells: cells.map(cellJson),
  events,
});

export const reportJson = (report: RunReport, conversation: ConversationRef | null, reader: Caller): JsonObject => {
  const { agent, goal, startedAt, endedAt, causes, budget, fork, caller } = report;
  const { cells } = detailsJson(report);
  const outcome = restOutcomeJson(reportedOutcome(report), seesCauses(reader.sees) ? causes : undefined);
  const whose = readsAllRuns(reader) ? { caller } : {};
  const questions = openQuestions(report);
  return {
    ...outcome,
    agent,
    goal,
    startedAt,
    endedAt,
    questions,
    conversation,
    fork,
    budget,
    ...whose,
    cells: cells!,
  };
};

/** How many questions wait for people. */
const openQuestions = ({ events, endedAt }: RunReport): number => {
  if (endedAt !== null) return 0;
  const count = (type: RunReport['events'][number]['type']): number => events.filter((one) => one.type === type).length;
  return count('question') - count('question-end');
};

/** Without the owner, which is information for the operator. The caller, for a reader who sees those of all callers. */
export const summaryJson = (listed: ListedRun, reader: Caller): JsonObject => {
  const { run, agent, goal, state, status, startedAt, endedAt, cells, spent, caller } = listed;
  const { crossings, refused, fork, conversation } = listed;
  const whose = readsAllRuns(reader) ? { caller } : {};
  return {
    run,
    agent,
    goal,
    state,
    status,
    startedAt,
    endedAt,
    cells,
    spent,
    crossings,
    refused,
    fork,
    conversation,
    ...whose,
  };
};

/** The answer to one message. `causes`: undefined for a caller who does not see them. */
export const restAnswerJson = (
  run: string,
  { id, correlation_id, agent_id, status, text, error }: Answer,
  causes: readonly Cause[] | undefined,
): JsonObject => ({
  run,
  message: id,
  answers: correlation_id,
  agent: agent_id,
  status,
  output: text,
  error: error === null ? null : answerFailureJson(error, causes),
  ...omitUndefined({ causes }),
});

/** With the cause that ended the work: the last one with its code. */
const answerFailureJson = (code: ErrorCode, causes: readonly Cause[] = []): JsonObject =>
  restFailureJson({ code }, causes.filter((cause) => cause.code === code).slice(-1));

/** Without stalls, which are information for the operator: what other callers do may have part in them. */
const cellJson = ({ outcome, stalls: _stalls, ...cell }: CellReport): JsonObject => ({
  ...cell,
  outcome: outcome === null ? null : { ...outcome, failure: failureJson(outcome.failure) },
});

export const failureJson = (failure: Failure | null): JsonObject | null => {
  if (failure === null) return null;
  const { code, detail, retryAfterMs } = failure;
  return { code, ...omitUndefined({ detail, retryAfterMs, limit: limitBehind(failure) }) };
};
