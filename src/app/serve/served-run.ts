// A run as those see it for whom it was begun.
//
//   S1. It ends with its client, unless the client has its answer.
//   S2. While it waits for its client it holds no place; whoever lets it go on has taken one.
import type { Agent, AgentRequest, RunOutcome, RunSession, ServedRun } from '#contracts';
import { answerPieces } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import type { ClientRun } from './client-run.ts';
import type { RunSlot } from './run-slot.ts';
import { eagerEvents } from './eager-events.ts';

type ServedOf = {
  readonly agent: Agent;
  readonly asked: AgentRequest;
  readonly startedAt: number;
  /** What is done meanwhile is told too. */
  readonly activity: boolean;
  readonly client: ClientRun | undefined;
  readonly place: RunSlot;
  /** Its client has gone away. */
  readonly gone: () => void;
  /** Its end, as far as it is told here. */
  readonly outcome: Promise<RunOutcome>;
};

/** What each of its requests gets: one, or, where the client has tools, several. */
export type ServeRequestPart = (signal: AbortSignal | undefined) => ServedRun;

/** Made at once, or it would miss what comes first. */
export const serveRun = (session: RunSession, of: ServedOf): ServeRequestPart => {
  const { agent, asked, activity, client } = of;
  const answerOnly = (asked.format ?? (asked.schema === undefined ? agent.output.format : 'json')) === 'json';
  const options = { answerOnly, activity };
  if (client === undefined) return (signal) => wholeRun(session, of, options, signal);
  client.attach(session);
  return (signal) => {
    const around = { gone: of.gone, waits: () => of.place.release() };
    const { pieces, ...part } = client.part(options, around, signal);
    return { ...named(session, of), ...part, events: () => session, pieces: () => pieces };
  };
};

const named = (session: RunSession, { agent, startedAt }: ServedOf) => ({
  run: session.run,
  agent: agent.name,
  startedAt,
  cancel: () => session.cancel(),
});

const wholeRun = (
  session: RunSession,
  of: ServedOf,
  options: PiecesOptions,
  signal: AbortSignal | undefined,
): ServedRun => {
  const { gone, outcome } = of;
  const events = of.asked.stream === true ? eagerEvents(session, signal) : session;
  if (signal?.aborted === true) gone();
  signal?.addEventListener('abort', gone, { once: true });
  const over = (): void => signal?.removeEventListener('abort', gone);
  outcome.then(over, over);
  return {
    ...named(session, of),
    outcome,
    events: () => events,
    pieces: () => answerPieces(events, outcome, options),
  };
};
