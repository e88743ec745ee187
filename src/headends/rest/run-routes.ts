// The runs of a caller: lists, shows, watches and cancels them.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type {
  AdmittedRequest,
  CallerRun,
  HttpRoute,
  RouteReply,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  RunSession,
  AgentService,
} from '#contracts';
import { acceptedReply, startDetached } from './ask-agent.ts';
import { eventStream } from './event-stream.ts';
import { refuseBody } from './parse-body.ts';
import { Query, refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';
import {
  cancelRunOperation,
  listRunsOperation,
  resumeRunOperation,
  runsPerPage,
  showRunOperation,
  watchRunOperation,
} from './run-operations.ts';
import { reportedOutcome, restOutcomeJson, reportJson, summaryJson } from './run-json.ts';

export const runRoutes = (service: AgentService): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1/runs',
    formatError: restError,
    operation: listRunsOperation,
    answer: (call) => listRuns(service, call),
  },
  {
    method: 'GET',
    path: '/v1/runs/:run',
    formatError: restError,
    operation: showRunOperation,
    answer: async (call) => {
      refuseQuery(call.query);
      const found = await requireRun(service, call);
      return { status: 200, body: reportJson(await found.report()) };
    },
  },
  {
    method: 'GET',
    path: '/v1/runs/:run/events',
    formatError: restError,
    operation: watchRunOperation,
    answer: (call) => watchRun(service, call),
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/cancel',
    formatError: restError,
    operation: cancelRunOperation,
    answer: async (call) => {
      refuseQueryAndBody(call);
      return acceptedReply((await commandRun(service, call, { do: 'cancel' })).summary);
    },
  },
  {
    method: 'POST',
    path: '/v1/runs/:run/resume',
    formatError: restError,
    operation: resumeRunOperation,
    answer: async (call) => {
      refuseQueryAndBody(call);
      const run = call.params['run'] ?? '';
      return acceptedReply(await startDetached(call, (signal) => service.resumeRun(call.caller, run, signal)));
    },
  },
];

export const requireRun = (service: AgentService, { caller, params }: AdmittedRequest): Promise<CallerRun> =>
  service.find(caller, params['run'] ?? '');

type RunningRun = Pick<CallerRun, 'summary'> & { readonly session: RunSession };

/** Throws `cell_ended` if the run is not running on this server. */
export const requireRunning = async (service: AgentService, call: AdmittedRequest): Promise<RunningRun> => {
  const { summary, session } = await requireRun(service, call);
  if (session === null) {
    const advice = summary.state === 'interrupted' ? ' Continue it with `resume`.' : '';
    throw new CloisterError('cell_ended', `Run ${summary.run} is not running on this server.${advice}`);
  }
  return { summary, session };
};

/** Carries out a command on the run that the path names. Throws `cell_ended` if it is not running on this server. */
export const commandRun = async <K extends RunCommandName>(
  service: AgentService,
  call: AdmittedRequest,
  command: RunCommand<K>,
): Promise<RunningRun & { readonly result: Awaited<RunCommandResults[K]> }> => {
  const found = await requireRunning(service, call);
  return { ...found, result: await service.do(call.caller, found.summary.run, command, call.signal) };
};

/** For a request that its path describes completely. */
export const refuseQueryAndBody = ({ query, body }: AdmittedRequest): void => {
  refuseQuery(query);
  refuseBody(body);
};

const listRuns = async (service: AgentService, { caller, query }: AdmittedRequest): Promise<RouteReply> => {
  const limit =
    new Query(query, ['limit']).wholeNumber('limit', { least: 1, most: runsPerPage.max }) ?? runsPerPage.default;
  const runs = await service.runs(caller, limit + 1);
  return { status: 200, body: { runs: runs.slice(0, limit).map(summaryJson), more: runs.length > limit } };
};

const watchRun = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  // A client that reconnects automatically sends its last id in a header, to the same URL as before.
  const last = call.headers.get('last-event-id');
  const after = last || new Query(call.query, ['after']).text('after');
  const found = await requireRun(service, call);
  if (after !== undefined) await checkEventExists(found, after, last ? 'last-event-id' : 'after');
  return {
    events: eventStream({
      events: found.events(after, call.signal),
      finalValue: () => finalOutcome(found, call.signal),
      id: call.id,
    }),
  };
};

/** Checked before anything is sent, so that the error can have a status. */
const checkEventExists = async (found: CallerRun, after: string, where: string): Promise<void> => {
  const { events } = await found.report();
  if (!events.some(({ id }) => id === after))
    throw new CloisterError(
      'request_invalid',
      `${where}: the run has no event with this id. Omit it to start from the beginning.`,
    );
};

/** The outcome; null if the client is gone, or the run continues elsewhere. */
const finalOutcome = async (found: CallerRun, signal: AbortSignal): Promise<JsonObject | null> => {
  if (signal.aborted) return null;
  if (found.session !== null) return restOutcomeJson(await found.session.outcome);
  const ended = reportedOutcome(await found.report());
  return ended.status === 'running' ? null : restOutcomeJson(ended);
};
