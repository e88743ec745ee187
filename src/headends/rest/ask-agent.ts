// Starts one run for one request: waits for it, streams it, or leaves it running.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AdmittedRequest, RouteReply, ServedRun, AgentService } from '#contracts';
import { answerReply, awaitAnswer } from './answer-reply.ts';
import { eventStream } from './event-stream.ts';
import { detailsJson, outcomeReply, restOutcomeJson } from './run-json.ts';
import type { ParsedRunRequest } from './run-request.ts';

/** Throws `agent_unknown`. */
export const requestedAgent = (service: AgentService, { caller, params }: AdmittedRequest): Agent =>
  service.agent(caller, params['agent'] ?? '');

export const askAgent = async (
  service: AgentService,
  call: AdmittedRequest,
  parsed: ParsedRunRequest,
): Promise<RouteReply> => {
  const { request, waits } = parsed;
  if (!waits || request.resident === true) {
    const started = await startDetached(call, (signal) => service.startRun(call.caller, request, signal));
    return waits ? firstReply(service, call, started) : acceptedReply(started);
  }

  const streams = parsed.stream ?? acceptsEvents(call.headers);
  if (streams && call.headers.has('last-event-id'))
    throw new CloisterError(
      'request_invalid',
      'last-event-id: this URL starts a new run each time. To continue a stream, use /v1/runs/<run>/events.',
    );
  const run = await service.startRun(call.caller, streams ? { ...request, stream: true } : request, call.signal);
  const value = async (): Promise<JsonObject> => ({
    ...restOutcomeJson(await run.outcome),
    ...(request.conversation === undefined ? {} : { conversation: request.conversation }),
    ...(parsed.details ? await details(service, call, run) : {}),
  });
  if (streams) return { events: eventStream({ events: run.events(), finalValue: value, id: call.id }) };
  return outcomeReply(await run.outcome, await value());
};

/** The reply for a run that keeps running after the request. */
export const acceptedReply = ({ run, agent }: Pick<ServedRun, 'run' | 'agent'>): RouteReply => ({
  status: 202,
  body: { run, agent, events: `/v1/runs/${encodeURIComponent(run)}/events` },
});

/** A client that disconnects leaves the queue; a run that has started keeps running. */
export const startDetached = async (
  { signal }: AdmittedRequest,
  start: (signal: AbortSignal) => Promise<ServedRun>,
): Promise<ServedRun> => {
  const waiting = new AbortController();
  const leave = (): void => waiting.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await start(waiting.signal);
  } finally {
    signal.removeEventListener('abort', leave);
  }
};

/** The answer to the first message of a resident run; its outcome, if it has already ended. */
const firstReply = async (
  service: AgentService,
  call: AdmittedRequest,
  { run, outcome }: ServedRun,
): Promise<RouteReply> => {
  const { session } = await service.find(call.caller, run);
  if (session !== null) return answerReply(run, await awaitAnswer(session, undefined, call.signal));
  const ended = await outcome;
  return outcomeReply(ended, restOutcomeJson(ended));
};

const details = async (service: AgentService, { caller }: AdmittedRequest, { run }: ServedRun): Promise<JsonObject> =>
  detailsJson(await (await service.find(caller, run)).report());

/** A client that also accepts JSON gets JSON. */
const acceptsEvents = (headers: Headers): boolean => {
  const types = (headers.get('accept') ?? '').split(',').map((type) => type.split(';')[0]!.trim().toLowerCase());
  return types.includes('text/event-stream') && !types.includes('application/json');
};
