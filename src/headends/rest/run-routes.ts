// The runs of a caller: listed, read, watched, cancelled.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { AdmittedRequest, FoundRun, HttpRoute, RouteReply, RunSession, AgentService } from '#contracts';
import { acceptedReply } from './ask-agent.ts';
import { eventStream } from './event-stream.ts';
import { refuseBody } from './parse-body.ts';
import { Query, refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';
import { cancelRun, listRunsOperation, runsMax, showRun, watchRun } from './run-operations.ts';
import { reportedOutcome, restOutcomeJson, reportValue, summaryValue } from './run-json.ts';

export const runRoutes = (serving: AgentService): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1/runs',
    form: restError,
    operation: listRunsOperation,
    answer: (call) => list(serving, call),
  },
  {
    method: 'GET',
    path: '/v1/runs/:run',
    form: restError,
    operation: showRun,
    answer: async (call) => {
      refuseQuery(call.query);
      const found = await requireRun(serving, call);
      return { status: 200, body: reportValue(await found.report()) };
    },
  },
  {
    method: 'GET',
    path: '/v1/runs/:run/events',
    form: restError,
    operation: watchRun,
    answer: (call) => watch(serving, call),
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/cancel',
    form: restError,
    operation: cancelRun,
    answer: async (call) => {
      refuseFurther(call);
      const { summary, session } = await requireRunning(serving, call);
      session.cancel();
      return acceptedReply(summary);
    },
  },
];

export const requireRun = (serving: AgentService, { caller, params }: AdmittedRequest): Promise<FoundRun> =>
  serving.find(caller, params['run'] ?? '');

type UnderWay = Pick<FoundRun, 'summary'> & { readonly session: RunSession };

/** Throws `cell_ended` when it is not. */
export const requireRunning = async (serving: AgentService, call: AdmittedRequest): Promise<UnderWay> => {
  const { summary, session } = await requireRun(serving, call);
  if (session === null) throw new CloisterError('cell_ended', `Run ${summary.run} is not under way here.`);
  return { summary, session };
};

/** Of a request that is said by its address alone. */
export const refuseFurther = ({ query, body }: AdmittedRequest): void => {
  refuseQuery(query);
  refuseBody(body);
};

const list = async (serving: AgentService, { caller, query }: AdmittedRequest): Promise<RouteReply> => {
  const limit = new Query(query, ['limit']).whole('limit', { least: 1, most: runsMax.most }) ?? runsMax.usual;
  const runs = await serving.runs(caller, limit + 1);
  return { status: 200, body: { runs: runs.slice(0, limit).map(summaryValue), more: runs.length > limit } };
};

const watch = async (serving: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  // A client that comes back by itself sends its newest id as a header, to the address that it had.
  const last = call.headers.get('last-event-id');
  const after = last || new Query(call.query, ['after']).text('after');
  const found = await requireRun(serving, call);
  if (after !== undefined) await checkKnown(found, after, last ? 'last-event-id' : 'after');
  return {
    events: eventStream({
      events: found.events(after, call.signal),
      ending: () => endingOf(found, call.signal),
      id: call.id,
    }),
  };
};

/** Before anything is sent, so that it can be told with a status. */
const checkKnown = async (found: FoundRun, after: string, where: string): Promise<void> => {
  const { events } = await found.report();
  if (!events.some(({ id }) => id === after))
    throw new CloisterError(
      'request_invalid',
      `${where}: the run has no event of this id. Leave it out to begin at the start.`,
    );
};

/** Whoever has gone away is told nothing, and not waited for. */
const endingOf = async (found: FoundRun, signal: AbortSignal): Promise<JsonObject | null> => {
  if (signal.aborted) return null;
  if (found.session !== null) return restOutcomeJson(await found.session.outcome);
  const ended = reportedOutcome(await found.report());
  return ended.status === 'running' ? null : restOutcomeJson(ended);
};
