// One run for one request: begun, waited for or streamed, or left to go on.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest, AdmittedRequest, RouteReply, ServedRun, AgentService } from '#contracts';
import { servedAgent } from '#headends/shared';
import { answerReply, answerTo } from './answer-to.ts';
import { eventStream } from './event-stream.ts';
import { detailsValue, outcomeReply, restOutcomeJson } from './run-json.ts';
import type { ParsedRunRequest } from './parsed-run-request.ts';

/** Throws `agent_unknown`. */
export const requestedAgent = (serving: AgentService, { caller, params }: AdmittedRequest): Agent =>
  servedAgent(serving, caller, params['agent'] ?? '');

export const askAgent = async (
  serving: AgentService,
  call: AdmittedRequest,
  wanted: ParsedRunRequest,
): Promise<RouteReply> => {
  const { asked, waits } = wanted;
  if (!waits || asked.resident === true) {
    const begun = await beginApart(serving, call, asked);
    return waits ? firstReply(serving, call, begun) : acceptedReply(begun);
  }

  const streams = wanted.stream ?? acceptsEvents(call.headers);
  if (streams && call.headers.has('last-event-id'))
    throw new CloisterError(
      'request_invalid',
      'last-event-id: this address begins a new run each time. Go on with the one that was begun at /v1/runs/<run>/events.',
    );
  const run = await serving.startRun(call.caller, streams ? { ...asked, stream: true } : asked, call.signal);
  const value = async (): Promise<JsonObject> => ({
    ...restOutcomeJson(await run.outcome),
    ...(asked.conversation === undefined ? {} : { conversation: asked.conversation }),
    ...(wanted.details ? await details(serving, call, run) : {}),
  });
  if (streams) return { events: eventStream({ events: run.events(), ending: value, id: call.id }) };
  return outcomeReply(await run.outcome, await value());
};

/** A run that goes on without the one who asked: there is something to be followed. */
export const acceptedReply = ({ run, agent }: Pick<ServedRun, 'run' | 'agent'>): RouteReply => ({
  status: 202,
  body: { run, agent, events: `/v1/runs/${encodeURIComponent(run)}/events` },
});

/** Whoever goes away leaves the line; what has begun goes on. */
const beginApart = async (
  serving: AgentService,
  { caller, signal }: AdmittedRequest,
  asked: AgentRequest,
): Promise<ServedRun> => {
  const waiting = new AbortController();
  const leave = (): void => waiting.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await serving.startRun(caller, asked, waiting.signal);
  } finally {
    signal.removeEventListener('abort', leave);
  }
};

/** The answer to its first message; if it has ended by now, how. */
const firstReply = async (
  serving: AgentService,
  call: AdmittedRequest,
  { run, outcome }: ServedRun,
): Promise<RouteReply> => {
  const { session } = await serving.find(call.caller, run);
  if (session !== null) return answerReply(run, await answerTo(session, undefined, call.signal));
  const ended = await outcome;
  return outcomeReply(ended, restOutcomeJson(ended));
};

const details = async (serving: AgentService, { caller }: AdmittedRequest, { run }: ServedRun): Promise<JsonObject> =>
  detailsValue(await (await serving.find(caller, run)).report());

/** Whoever takes JSON too is given JSON. */
const acceptsEvents = (headers: Headers): boolean => {
  const types = (headers.get('accept') ?? '').split(',').map((type) => type.split(';')[0]!.trim().toLowerCase());
  return types.includes('text/event-stream') && !types.includes('application/json');
};
