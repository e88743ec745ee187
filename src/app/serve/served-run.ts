// A run as its caller sees it.
//
//   served-run-ends-with-client. The run ends when its client disconnects, unless the client has its answer.
//   served-run-waits-without-slot. The run holds no slot while it waits for its client; the request that continues it has
//       acquired one.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { outcomeAsSeen, seesCauses } from '#contracts';
import type { Agent, AgentRequest, Caller, CallerQuestion, RunOutcome, RunSession, ServedRun } from '#contracts';
import type { SettleAllowance } from './allowances.ts';
import { answerPieces, eagerEvents } from './answer-pieces.ts';
import type { PiecesOptions } from './answer-pieces.ts';
import type { ClientRun } from './client-run.ts';
import type { ResidentRun } from './resident-sessions.ts';
import type { RunSlot } from './slot-queue.ts';

/** What a run for a caller holds. */
export type RunHolds = {
  readonly caller: Caller;
  readonly agent: Agent;
  readonly request: AgentRequest;
  readonly slot: RunSlot;
  readonly settle: SettleAllowance | undefined;
  /** Set if the run cannot continue without its client. */
  readonly client: ClientRun | undefined;
  /** Set for a resident. */
  readonly resident: ResidentRun | undefined;
};

/** A run for a caller that is running in this process. */
export type ActiveRun = RunHolds & {
  readonly session: RunSession;
  readonly startedAt: number;
  /** The outcome as reported to the client. */
  readonly outcome: Promise<RunOutcome>;
  /** Called when the client disconnects. */
  readonly onDisconnect: () => void;
  /** The questions of the run that wait, as its caller sees them. */
  readonly questions: () => Promise<readonly CallerQuestion[]>;
  /** Rejects the outcome for those who wait for it, while the run itself is left to be resumed. */
  readonly detach: () => void;
};

/** Leaves runs to be resumed, and returns them; cancels those that cannot be, because they need their client. */
export const letGo = (runs: readonly ActiveRun[]): readonly RunId[] => {
  for (const { session, client, detach } of runs) {
    if (client !== undefined) session.cancel();
    else detach();
  }
  return runs.filter(({ client }) => client === undefined).map(({ session }) => session.run);
};

/** Serves one request of the run: the only one, or one of several if the client has tools. */
export type ServeRunRequest = (signal: AbortSignal | undefined) => ServedRun;

/** `activity`: the answer includes descriptions of activity. Must be called as soon as the run starts; it would otherwise miss the first events. */
export const serveRun = (active: ActiveRun, activity: boolean): ServeRunRequest => {
  const { session, client, caller } = active;
  const { sees = 'answers' } = caller;
  const options = { answerOnly: isAnswerOnly(active), activity };
  if (client === undefined) return (signal) => serveWholeRun(active, options, signal);
  client.attach(session);
  return (signal) => {
    const hooks = { onDisconnect: active.onDisconnect, onWait: () => active.slot.release() };
    const { pieces, outcome: whole, ...part } = client.serveRequest(options, hooks, signal);
    const outcome = whole.then((end) => outcomeAsSeen(end, sees));
    outcome.catch(() => undefined);
    return { ...runInfo(active), ...part, outcome, events: () => session.events({ sees }), pieces: () => pieces };
  };
};

/** A further reader of a run that is running. The run does not end when this one leaves. Throws `run_owned` if its client has tools. */
export const serveActive = (active: ActiveRun, activity: boolean): ServedRun => {
  if (active.client !== undefined)
    throw new CloisterError('run_owned', `Run ${active.session.run} waits for its client, or works for it.`);
  return serveWholeRun(active, { answerOnly: isAnswerOnly(active), activity }, undefined);
};

const isAnswerOnly = ({ agent, request }: ActiveRun): boolean =>
  (request.format ?? (request.schema === undefined ? agent.signature.output.format : 'json')) === 'json';

const runInfo = ({ session, agent, startedAt, caller }: ActiveRun) => ({
  run: session.run,
  agent: agent.name,
  startedAt,
  cancel: () => session.cancel(),
  // probe: served-causes
  causes: async () => (seesCauses(caller.sees) ? session.causes() : undefined),
});

const serveWholeRun = (active: ActiveRun, options: PiecesOptions, signal: AbortSignal | undefined): ServedRun => {
  const { session, caller, request, onDisconnect, outcome } = active;
  const shown = session.events({ sees: caller.sees ?? 'answers', details: request.details === true });
  const events = request.stream === true ? eagerEvents(shown, session.outcome, signal) : shown;
  if (signal?.aborted === true) onDisconnect();
  signal?.addEventListener('abort', onDisconnect, { once: true });
  const over = (): void => signal?.removeEventListener('abort', onDisconnect);
  outcome.then(over, over);
  return {
    ...runInfo(active),
    outcome,
    events: () => events,
    pieces: () => answerPieces(events, outcome, options),
    asked: async () => {
      const questions = await whenAsked(active);
      over();
      return questions;
    },
  };
};

const whenAsked = ({ session, questions, outcome }: ActiveRun): Promise<readonly CallerQuestion[]> =>
  new Promise((resolve, reject) => {
    const look = async (): Promise<void> => {
      const own = (await questions()).filter(({ mayAnswer }) => mayAnswer);
      if (own.length === 0) return;
      stop();
      resolve(own);
    };
    const stop = session.onWaiting((waits) => {
      if (waits) look().catch(reject);
    });
    outcome.then(stop, stop);
    if (session.waitsForPeople) look().catch(reject);
  });
