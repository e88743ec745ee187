// The runs of a caller: lists, shows, watches and cancels them.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import { about, boolean, listOf, object, oneOf, openObject, orNull, string, whole } from '#base/shapes';
import type { Of } from '#base/shapes';
import type {
  AdmittedRequest,
  CallerRun,
  HttpRoute,
  RouteReply,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  AgentService,
} from '#contracts';
import { leaveQueueOnDisconnect, refuseKey } from '#headends/shared';
import { acceptedReply, acceptsJson, eventStream } from './ask-agent.ts';
import type { EventPicker, RunningRun } from './ask-agent.ts';
import { jsonOrEventsReply, jsonReply, restRoute } from './described-route.ts';
import { begunShape, errorShape, reportShape, runShape, statuses, transcriptShape } from './reply-shapes.ts';
import { forkShape } from './request-shapes.ts';
import { reportedOutcome, restOutcomeJson, reportJson, summaryJson } from './run-json.ts';

/** How many runs one page lists. */
const runsPerPage = { default: 50, max: 1000 };

const eventPageShape = openObject({
  events: listOf(openObject({ type: string(), id: string() })),
  next: about(
    orNull(string()),
    'The id to pass as `after` for the next page; null if there are no more events so far.',
  ),
});

/** How many events one page has. The default is for a client that asks for JSON. */
const eventsPerPage = { default: 1000, max: 10_000 };

const listQuery = object(
  {},
  {
    limit: about(whole(1, runsPerPage.max), 'Maximum number of runs.', { default: runsPerPage.default }),
    before: about(string(), 'Only runs that are older than this one: `next` of the page before.'),
    agent: about(string(), 'Only of this agent.'),
    state: about(
      oneOf('running', 'waiting', 'interrupted', 'ended', 'damaged', ...statuses),
      'Only in this state, or with this end.',
    ),
    text: about(string(), 'Only those with this text in their goal, their id or the name of their agent.'),
    refused: about(boolean(), 'Only those in which crossings were refused, or none was.'),
  },
);

const watchQuery = object(
  {},
  {
    after: about(string(), 'Only events after the one with this id.'),
    limit: about(
      whole(1, eventsPerPage.max),
      'Returns a page of recorded events as JSON instead of a stream: at most so many, fewer if they are long.',
    ),
    fields: about(
      string(),
      'The fields of each event, separated by commas, such as `cell,at`. `id` and `type` are always there. Default: all.',
    ),
    details: about(
      boolean(),
      'Recorded events carry contents in `details`: what models were shown and said, arguments, results, what crossed. Refused for tokens that do not show `contents`.',
      { default: false },
    ),
  },
);

const transcriptQuery = object(
  {},
  {
    cell: about(string(), 'Only this cell.'),
    full: about(boolean(), 'The whole prompt of each request, and long outputs whole.', { default: false }),
  },
);

/** For operations that need a running run. */
export const notRunningReply = jsonReply(
  'Nobody works on the run, or another server would have to do this.',
  errorShape,
);

export const runRoutes = (service: AgentService): readonly HttpRoute[] => [
  ...readingRoutes(service),
  ...steeringRoutes(service),
];

const readingRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/runs',
    id: 'listRuns',
    tag: 'runs',
    summary: 'List your runs, newest first',
    query: listQuery,
    description:
      'A page can have fewer runs than `limit`, or none, although there are more: a filter reads a limited number of logs at a time.',
    replies: {
      200: jsonReply(
        'The runs, and whether there are older ones.',
        openObject({
          runs: listOf(runShape),
          more: boolean(),
          next: about(orNull(string()), 'The id to pass as `before` for the next page; null: there are no more.'),
        }),
      ),
    },
    answer: async ({ caller }, { query: { limit: most = runsPerPage.default, ...filters } }) => {
      const { runs, next } = await service.runs(caller, { most, ...filters });
      return { status: 200, body: { runs: runs.map((run) => summaryJson(run, caller)), more: next !== null, next } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run',
    id: 'showRun',
    tag: 'runs',
    summary: 'Get one run: status, answer, usage and cells',
    replies: { 200: jsonReply('The run.', reportShape) },
    answer: (call) => showRun(service, call),
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/events',
    id: 'watchRun',
    tag: 'runs',
    summary: 'Stream the events of a run: first the recorded ones, then live',
    description:
      'If a stream ends without `outcome` or `error`, continue it after its last id. With `limit`, or for a client that accepts JSON and no event streams, a page of the recorded events.',
    query: watchQuery,
    headers: {
      'last-event-id': 'The same, sent by clients that reconnect automatically. Takes precedence over `after`.',
    },
    replies: { 200: jsonOrEventsReply('The events, or a page of them.', eventPageShape) },
    answer: (call, { query }) => watchRun(service, call, query),
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/transcript',
    id: 'readTranscript',
    tag: 'runs',
    summary: 'Read what each model of a run was shown, said and called',
    description:
      'Only for tokens that show `contents`. Of each prompt, what is new since the request before. The same follows from the events with `details`.',
    query: transcriptQuery,
    replies: { 200: jsonReply('The transcript.', transcriptShape) },
    answer: async (call, { query }) => {
      const found = await requireRun(service, call);
      return { status: 200, body: await found.transcript(query) };
    },
  }),
];

const steeringRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/cancel',
    id: 'cancelRun',
    tag: 'runs',
    summary: 'Cancel a run, including everything it has started',
    description:
      'If another process of this workspace runs it, that process is asked to. An interrupted run continues in order to end; if it cannot, the reply is 409.',
    replies: { 202: jsonReply('The run is being cancelled.', begunShape), 409: notRunningReply },
    answer: async (call) => acceptedReply((await commandRun(service, call, { do: 'cancel' })).summary),
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/resume',
    id: 'resumeRun',
    tag: 'runs',
    summary: 'Continue an interrupted run',
    description:
      'After a crash or a kill. A resident run continues with the agents it had started, their windows, files and unread messages.',
    replies: {
      202: jsonReply('The run continues.', begunShape),
      409: jsonReply('The run has ended, or is running.', errorShape),
    },
    answer: async (call) => {
      const run = call.params['run'] ?? '';
      return acceptedReply(await leaveQueueOnDisconnect(call, (signal) => service.resumeRun(call.caller, run, signal)));
    },
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/fork',
    id: 'forkRun',
    tag: 'runs',
    summary: 'Start a run that keeps another one’s log up to an operation, and continues from there',
    description:
      'The fork is a run of yours. It keeps the budget of its run, of which the kept part has spent its share; only a fork at its first cell can have another one. Variables stay as they were, and so do models and grants, unless an operator changes them.',
    body: forkShape,
    replies: { 202: jsonReply('The fork has started.', begunShape) },
    answer: (call, { body }) => forkRun(service, call, body),
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/retry',
    id: 'retryRun',
    tag: 'runs',
    summary: 'Try a run again from its start, with the same input, history and budget',
    description:
      'The run itself is kept. If it is a turn of a conversation, the new run is another version of that turn, and the conversation continues with it; later turns no longer count. Otherwise the new run is a fork.',
    replies: {
      202: jsonReply('The new run has started.', begunShape),
      409: jsonReply('A turn of the conversation is running.', errorShape),
    },
    answer: async (call) => {
      refuseKey(call, 'each try is a run of its own.');
      const run = call.params['run'] ?? '';
      return acceptedReply(await leaveQueueOnDisconnect(call, (signal) => service.retryRun(call.caller, run, signal)));
    },
  }),
];

const forkRun = async (
  service: AgentService,
  call: AdmittedRequest,
  fork: Of<typeof forkShape>,
): Promise<RouteReply> => {
  const { caller } = call;
  const { summary } = await requireRun(service, call);
  refuseKey(call, 'each fork is a run of its own.');
  return acceptedReply(
    await leaveQueueOnDisconnect(call, (signal) => service.forkRun(caller, summary.run, fork, signal)),
  );
};

const showRun = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  const found = await requireRun(service, call);
  const [report, conversation] = [await found.report(), await found.conversation()];
  return { status: 200, body: reportJson(report, conversation, call.caller) };
};

export const requireRun = (service: AgentService, { caller, params }: AdmittedRequest): Promise<CallerRun> =>
  service.find(caller, params['run'] ?? '');

/** Throws `cell_ended` if nobody works on the run. */
export const requireRunning = async (service: AgentService, call: AdmittedRequest): Promise<RunningRun> => {
  const found = await requireRun(service, call);
  const { summary, session } = found;
  if (session === null) {
    const advice = summary.state === 'interrupted' ? ' Continue it with `resume`.' : '';
    throw new CloisterError('cell_ended', `Run ${summary.run} is not running.${advice}`);
  }
  return { ...found, session };
};

/** Carries out a command on the run that the path names, or stores it for the process that owns the run. Throws `cell_ended`. */
export const commandRun = async <K extends RunCommandName>(
  service: AgentService,
  call: AdmittedRequest,
  command: RunCommand<K>,
): Promise<CallerRun & { readonly result: Awaited<RunCommandResults[K]> }> => {
  const found = await requireRun(service, call);
  return { ...found, result: await service.do(call.caller, found.summary.run, command, call.signal) };
};

const watchRun = async (
  service: AgentService,
  call: AdmittedRequest,
  query: Of<typeof watchQuery>,
): Promise<RouteReply> => {
  // A client that reconnects automatically sends its last id in a header, to the same URL as before.
  const last = call.headers.get('last-event-id');
  const after = last || query.after;
  const found = await requireRun(service, call);
  const pick = query.fields === undefined ? undefined : pickFields(query.fields);
  if (query.limit !== undefined || acceptsJson(call.headers)) {
    const { limit = eventsPerPage.default, details } = query;
    const { events, next } = await found.eventPage({ after, details, limit });
    return { status: 200, body: { events: pick === undefined ? events : events.map(pick), next } };
  }
  if (after !== undefined) await checkEventExists(found, after, last ? 'last-event-id' : 'after');
  return {
    events: eventStream({
      events: found.events({ after, details: query.details }, call.signal),
      finalValue: () => finalOutcome(found, call),
      id: call.id,
      pick,
    }),
    compress: true,
  };
};

const fieldNames = /^[A-Za-z_]{1,40}(?:,[A-Za-z_]{1,40}){0,49}$/u;

/** Throws `request_invalid`. An event without one of these fields is without it. */
const pickFields = (names: string): EventPicker => {
  if (!fieldNames.test(names))
    throw new CloisterError('request_invalid', 'fields: expected names of fields, separated by commas.');
  const chosen = ['type', 'id', ...names.split(',')];
  return (event) => {
    const all = event as unknown as JsonObject;
    return Object.fromEntries(chosen.flatMap((name) => (Object.hasOwn(all, name) ? [[name, all[name]!]] : [])));
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

/** The outcome; null if the client is gone, or it is not known. */
const finalOutcome = async (found: CallerRun, { signal }: AdmittedRequest): Promise<JsonObject | null> => {
  if (signal.aborted) return null;
  const outcome = (await found.session?.outcome) ?? reportedOutcome(await found.report());
  if (outcome.status === 'running') return null;
  return restOutcomeJson(outcome, await found.causes());
};
