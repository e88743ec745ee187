// A run as its caller sees it.
//
//   served-run-ends-with-client. The run ends when its client disconnects, unless the client has its answer.
//   served-run-waits-without-slot. The run holds no slot while it waits for its client; the request that continues it has
//       acquired one.
import type { ServedRun } from '#contracts';
import type { ActiveRun, ServeRunRequest } from './active-run.ts';
import { answerPieces } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import { eagerEvents } from './eager-events.ts';

/** `activity`: the answer includes descriptions of activity. Must be called as soon as the run starts; it would otherwise miss the first events. */
export const serveRun = (active: ActiveRun, activity: boolean): ServeRunRequest => {
  const { session, agent, request, client } = active;
  const answerOnly =
    (request.format ?? (request.schema === undefined ? agent.signature.output.format : 'json')) === 'json';
  const options = { answerOnly, activity };
  if (client === undefined) return (signal) => serveWholeRun(active, options, signal);
  client.attach(session);
  return (signal) => {
    const hooks = { onDisconnect: active.onDisconnect, onWait: () => active.slot.release() };
    const { pieces, ...part } = client.serveRequest(options, hooks, signal);
    return { ...runInfo(active), ...part, events: () => session, pieces: () => pieces };
  };
};

const runInfo = ({ session, agent, startedAt }: ActiveRun) => ({
  run: session.run,
  agent: agent.name,
  startedAt,
  cancel: () => session.cancel(),
});

const serveWholeRun = (active: ActiveRun, options: PiecesOptions, signal: AbortSignal | undefined): ServedRun => {
  const { session, request, onDisconnect, outcome } = active;
  const events = request.stream === true ? eagerEvents(session, signal) : session;
  if (signal?.aborted === true) onDisconnect();
  signal?.addEventListener('abort', onDisconnect, { once: true });
  const over = (): void => signal?.removeEventListener('abort', onDisconnect);
  outcome.then(over, over);
  return {
    ...runInfo(active),
    outcome,
    events: () => events,
    pieces: () => answerPieces(events, outcome, options),
  };
};
