// A run as its caller sees it.
//
//   S1. The run ends when its client disconnects, unless the client has its answer.
//   S2. The run holds no slot while it waits for its client; the request that continues it has acquired one.
import type { Agent, AgentRequest, RunOutcome, RunSession, ServedRun } from '#contracts';
import { answerPieces } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import type { ClientRun } from './client-run.ts';
import type { RunSlot } from './run-slot.ts';
import { eagerEvents } from './eager-events.ts';

type ServeContext = {
  readonly agent: Agent;
  readonly request: AgentRequest;
  readonly startedAt: number;
  /** Whether the answer includes descriptions of activity. */
  readonly activity: boolean;
  readonly client: ClientRun | undefined;
  readonly slot: RunSlot;
  /** Called when the client disconnects. */
  readonly onDisconnect: () => void;
  /** The outcome as reported to the client. */
  readonly outcome: Promise<RunOutcome>;
};

/** Serves one request of the run: the only one, or one of several if the client has tools. */
export type ServeRunRequest = (signal: AbortSignal | undefined) => ServedRun;

/** Must be called as soon as the run starts; it would otherwise miss the first events. */
export const serveRun = (session: RunSession, context: ServeContext): ServeRunRequest => {
  const { agent, request, activity, client } = context;
  const answerOnly = (request.format ?? (request.schema === undefined ? agent.output.format : 'json')) === 'json';
  const options = { answerOnly, activity };
  if (client === undefined) return (signal) => serveWholeRun(session, context, options, signal);
  client.attach(session);
  return (signal) => {
    const hooks = { onDisconnect: context.onDisconnect, onWait: () => context.slot.release() };
    const { pieces, ...part } = client.serveRequest(options, hooks, signal);
    return { ...runInfo(session, context), ...part, events: () => session, pieces: () => pieces };
  };
};

const runInfo = (session: RunSession, { agent, startedAt }: ServeContext) => ({
  run: session.run,
  agent: agent.name,
  startedAt,
  cancel: () => session.cancel(),
});

const serveWholeRun = (
  session: RunSession,
  context: ServeContext,
  options: PiecesOptions,
  signal: AbortSignal | undefined,
): ServedRun => {
  const { onDisconnect, outcome } = context;
  const events = context.request.stream === true ? eagerEvents(session, signal) : session;
  if (signal?.aborted === true) onDisconnect();
  signal?.addEventListener('abort', onDisconnect, { once: true });
  const over = (): void => signal?.removeEventListener('abort', onDisconnect);
  outcome.then(over, over);
  return {
    ...runInfo(session, context),
    outcome,
    events: () => events,
    pieces: () => answerPieces(events, outcome, options),
  };
};
