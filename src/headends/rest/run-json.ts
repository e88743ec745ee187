// Runs as JSON: an outcome has the shape of `cloister run --json`.
import { clientFailure } from '#headends/shared';
import type { Failure, JsonObject } from '#base';
import type { Answer, CellReport, RouteReply, RunOutcome, RunReport, RunSummary } from '#contracts';
import { restFailureJson } from './rest-error.ts';

export const restOutcomeJson = ({ run, status, output, data, failure, spent, missing }: Ended): JsonObject => ({
  run,
  status,
  output,
  data,
  error: failure === null ? null : restFailureJson(failure),
  spent,
  missing,
});

/** An outcome, or how far a run came that has none. */
type Ended = Omit<RunOutcome, 'status' | 'cell'> & { readonly status: RunReport['status'] };

export const reportedOutcome = (report: RunReport): Ended => {
  const outcome = report.cells.find(({ parent }) => parent === null)?.outcome ?? null;
  const { run, status, output, spent } = report;
  return outcome === null
    ? { run, status, output, spent, data: null, failure: null, missing: [] }
    : { ...outcome, run, status };
};

/** A part of an answer is one; what a run said before it failed is not. */
const hasAnswer = ({ status, output }: Ended): boolean =>
  output !== '' && status !== 'failed' && status !== 'cancelled';

/** A failure that is told as an outcome says besides what a client should do about it. */
export const outcomeReply = (ended: Ended, body: JsonObject): RouteReply => {
  const { failure } = ended;
  if (failure === null || hasAnswer(ended)) return { status: 200, body };
  const { status, code, retryable, retryAfterMs } = clientFailure(failure);
  const headers = {
    'x-should-retry': retryable ? 'true' : 'false',
    ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
  };
  return { status, body, headers, code };
};

export const detailsValue = ({ cells, events }: RunReport): JsonObject => ({ cells: cells.map(cellValue), events });

export const reportValue = (report: RunReport): JsonObject => {
  const { agent, goal, startedAt, endedAt, cells } = report;
  return { ...restOutcomeJson(reportedOutcome(report)), agent, goal, startedAt, endedAt, cells: cells.map(cellValue) };
};

/** Who owns it is for the operator. */
export const summaryValue = (summary: RunSummary): JsonObject => {
  const { run, agent, goal, state, status, startedAt, endedAt, cells, spent } = summary;
  return { run, agent, goal, state, status, startedAt, endedAt, cells, spent };
};

/** The answer to one message. */
export const restAnswerJson = (
  run: string,
  { id, correlation_id, agent_id, status, text, error }: Answer,
): JsonObject => ({
  run,
  message: id,
  answers: correlation_id,
  agent: agent_id,
  status,
  output: text,
  error: error === null ? null : restFailureJson({ code: error }),
});

const cellValue = ({ outcome, ...cell }: CellReport): JsonObject => ({
  ...cell,
  outcome: outcome === null ? null : { ...outcome, failure: withoutDetail(outcome.failure) },
});

/** What the world said to a cell may name the operator's hosts and accounts. */
const withoutDetail = (failure: Failure | null): JsonObject | null => {
  if (failure === null) return null;
  const { code, retryAfterMs } = failure;
  return { code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
};
