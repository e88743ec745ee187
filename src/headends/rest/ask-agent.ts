// Starts one run for one request: waits for it, streams it, or leaves it running.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import { isMessageError } from '#contracts';
import type {
  Agent,
  AgentRequest,
  AdmittedRequest,
  RouteReply,
  ServedRun,
  AgentService,
  Answer,
  CallerRun,
  Cause,
  RunEvent,
  ServerEvent,
} from '#contracts';
import { httpStatus, clientError, leaveQueueOnDisconnect, requestKey, RunFailedError } from '#headends/shared';
import { restError } from './rest-error.ts';
import { detailsJson, outcomeReply, restOutcomeJson, restAnswerJson } from './run-json.ts';
import type { ParsedRunRequest } from './run-request.ts';

/** Throws `agent_unknown`. */
export const requestedAgent = (service: AgentService, { caller, params }: AdmittedRequest): Agent =>
  service.agent(caller, params['agent'] ?? '');

export const askAgent = async (
  service: AgentService,
  call: AdmittedRequest,
  parsed: ParsedRunRequest,
): Promise<RouteReply> => {
  const { waits } = parsed;
  const request = withKey(parsed.request, call);
  if (!waits || request.resident === true) {
    const started = await leaveQueueOnDisconnect(call, (signal) => service.startRun(call.caller, request, signal));
    return waits ? firstReply(service, call, started) : acceptedReply(started);
  }

  const streams = parsed.stream ?? acceptsEvents(call.headers);
  if (streams && call.headers.has('last-event-id'))
    throw new CloisterError(
      'request_invalid',
      'last-event-id: this URL starts a new run each time. To continue a stream, use /v1/runs/<run>/events.',
    );
  const run = await service.startRun(
    call.caller,
    streams ? { ...request, stream: true, details: parsed.details } : request,
    call.signal,
  );
  const value = async (): Promise<JsonObject> => ({
    ...restOutcomeJson(await run.outcome, await run.causes()),
    ...(request.conversation === undefined ? {} : { conversation: request.conversation }),
    ...(parsed.details ? await details(service, call, run) : {}),
  });
  if (streams) return { events: eventStream({ events: run.events(), finalValue: value, id: call.id }) };
  return outcomeReply(await run.outcome, await value());
};

const withKey = (request: AgentRequest, { headers }: AdmittedRequest): AgentRequest => {
  const key = requestKey(headers);
  return key === undefined ? request : { ...request, key };
};

/** The reply for a run that keeps running after the request. */
export const acceptedReply = ({ run, agent }: Pick<ServedRun, 'run' | 'agent'>): RouteReply => ({
  status: 202,
  body: { run, agent, events: eventsPath(run) },
});

export const eventsPath = (run: string): string => `/v1/runs/${encodeURIComponent(run)}/events`;

/** The answer to the first message of a resident run; its outcome, if it has already ended. */
const firstReply = async (service: AgentService, call: AdmittedRequest, served: ServedRun): Promise<RouteReply> => {
  const { run, outcome } = served;
  const found = await service.find(call.caller, run);
  if (found.session !== null) return answerReply({ ...found, session: found.session }, undefined, call);
  const ended = await outcome;
  return outcomeReply(ended, restOutcomeJson(ended, await served.causes()));
};

const details = async (service: AgentService, { caller }: AdmittedRequest, { run }: ServedRun): Promise<JsonObject> =>
  detailsJson(await (await service.find(caller, run)).report({ details: true }));

/** A client that also accepts JSON gets JSON. */
const acceptsEvents = (headers: Headers): boolean => {
  const types = acceptedTypes(headers);
  return types.includes('text/event-stream') && !types.includes('application/json');
};

/** For a URL that streams by default. */
export const acceptsJson = (headers: Headers): boolean => {
  const types = acceptedTypes(headers);
  return types.includes('application/json') && !types.includes('text/event-stream');
};

const acceptedTypes = (headers: Headers): readonly string[] =>
  (headers.get('accept') ?? '').split(',').map((type) => type.split(';')[0]!.trim().toLowerCase());

// Waits for an agent's answer to a message, and returns it as a reply.
export type RunningRun = CallerRun & { readonly session: NonNullable<CallerRun['session']> };

/** Without a message, waits for the answer to the first one. If the client disconnects, only the wait ends; the message stays. */
export const answerReply = async (
  found: RunningRun,
  message: string | undefined,
  { signal }: Pick<AdmittedRequest, 'signal'>,
): Promise<RouteReply> => {
  const answer = await awaitAnswer(found, message, signal);
  const body = restAnswerJson(found.summary.run, answer, await found.causes(answer.id));
  const { error, text } = answer;
  return error === null || text !== '' ? { status: 200, body } : { status: httpStatus(error), body, code: error };
};

export const awaitAnswer = async (
  { session, causes }: Pick<RunningRun, 'session' | 'causes'>,
  message: string | undefined,
  signal: AbortSignal,
): Promise<Answer> => {
  try {
    return await session.answer(message, { signal });
  } catch (error) {
    throw runFailedError(error, await causes());
  }
};

/** If the run failed, the client gets the error code and the causes that it sees. */
const runFailedError = (error: unknown, causes: readonly Cause[] | undefined): unknown => {
  if (!(error instanceof CloisterError) || isMessageError(error.code)) return error;
  return new RunFailedError({ code: error.code }, causes);
};

// The events of a run as a stream: each event once, then the outcome.
type EventStreamInput = {
  readonly events: AsyncIterable<RunEvent>;
  /** The outcome; null if it is not known. */
  readonly finalValue: () => Promise<JsonObject | null>;
  /** The id of the request. */
  readonly id: string;
  /** The part of each event that is sent. Default: all of it. */
  readonly pick?: EventPicker | undefined;
};

export type EventPicker = (event: RunEvent) => JsonObject;

export const eventStream = async function* ({
  events,
  finalValue,
  id,
  pick,
}: EventStreamInput): AsyncGenerator<ServerEvent> {
  try {
    for await (const event of events) yield serverEvent(event, pick);
    const value = await finalValue();
    if (value !== null) yield { event: 'outcome', data: JSON.stringify(value) };
  } catch (error) {
    yield { event: 'error', data: JSON.stringify(restError(clientError(error), id)) };
  }
};

/** Live pieces have no id: a client that reconnects gets the recorded events instead. */
const serverEvent = (event: RunEvent, pick?: EventPicker): ServerEvent => ({
  event: event.type,
  ...('id' in event ? { id: event.id } : {}),
  data: JSON.stringify(pick?.(event) ?? event),
});
