// A run as its caller sees it.
//
//   served-run-ends-with-client. The run ends when its client disconnects, unless the client has its answer.
//   served-run-waits-without-slot. The run holds no slot while it waits for its client or for people; the request that continues it
//       has acquired one.
import { CloisterError } from '#base';
import { seesCauses } from '#contracts';
import type {
  Agent,
  AgentRequest,
  Caller,
  CallerQuestion,
  FollowedRun,
  FollowOptions,
  RunEvent,
  RunOutcome,
  RunSession,
  ServedRun,
} from '#contracts';
import type { SettleAllowance } from './allowances.ts';
import { answerPieces, eagerEvents } from './answer-pieces.ts';
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

/** A run for a caller that is read here, whichever process works on it. */
export type ReadRun = Pick<ActiveRun, 'caller' | 'request' | 'startedAt' | 'outcome' | 'onDisconnect' | 'questions'> & {
  readonly session: AsyncIterable<RunEvent> &
    Pick<
      FollowedRun,
      'run' | 'outcome' | 'events' | 'causes' | 'cancel' | 'clientCalls' | 'onWaiting' | 'waitsForPeople'
    >;
  readonly agent: { readonly name: string; readonly signature: { readonly output: { readonly format: string } } };
};

/** Serves one request of a run whose client has tools. */
export const serveClientRequest = (
  active: ReadRun,
  client: ClientRun,
  request: Omit<Parameters<ClientRun['serveRequest']>[1], 'end' | 'onDisconnect'>,
  { activity, signal, events }: ClientServing,
): ServedRun => {
  const { session, caller, onDisconnect, outcome: end } = active;
  const { sees = 'answers' } = caller;
  const options = { answerOnly: isAnswerOnly(active), activity };
  const { pieces, ...part } = client.serveRequest(options, { ...request, end, onDisconnect }, signal);
  return { ...runInfo(active), ...part, events: () => events ?? session.events({ sees }), pieces: () => pieces };
};

type ClientServing = {
  readonly activity: boolean;
  readonly signal: AbortSignal | undefined;
  /** If they are read: see `subscribeEvents`. */
  readonly events?: AsyncIterable<RunEvent> | undefined;
};

/** Before the run works for a request whose client reads the events; undefined if it does not. They end when the signal aborts. */
export const subscribeEvents = (
  { session, caller }: Pick<ReadRun, 'session' | 'caller'>,
  { readsEvents, details = false }: Pick<AgentRequest, 'readsEvents' | 'details'>,
  signal: AbortSignal | undefined,
): AsyncIterable<RunEvent> | undefined => {
  if (readsEvents !== true) return undefined;
  return eagerEvents(session.events({ sees: caller.sees ?? 'answers', details }), session.outcome, signal);
};

/** A further reader of a run that is running. Throws `run_owned` if the run's client has tools. */
export const serveActive = (
  active: ActiveRun,
  activity: boolean,
  { events, signal }: FollowOptions = {},
): ServedRun => {
  if ((active.request.tools ?? []).length > 0)
    throw new CloisterError('run_owned', `Run ${active.session.run} waits for its client, or works for it.`);
  const request = events === undefined ? active.request : { ...active.request, stream: true, ...events };
  return serveWholeRun({ ...active, request }, activity, signal);
};

const isAnswerOnly = ({ agent, request }: ReadRun): boolean =>
  (request.format ?? (request.schema === undefined ? agent.signature.output.format : 'json')) === 'json';

const runInfo = ({ session, agent, startedAt, caller }: ReadRun) => ({
  run: session.run,
  agent: agent.name,
  startedAt,
  cancel: () => session.cancel(),
  // probe: served-causes
  causes: async () => (seesCauses(caller.sees) ? session.causes() : undefined),
});

/** Must be called as soon as the run starts; it would otherwise miss the first events. `activity`: the answer describes activity. */
export const serveWholeRun = (active: ReadRun, activity: boolean, signal: AbortSignal | undefined): ServedRun => {
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
    pieces: () => answerPieces(events, outcome, { answerOnly: isAnswerOnly(active), activity }),
    asked: async () => {
      const questions = await whenAsked(active);
      over();
      return questions;
    },
  };
};

const whenAsked = ({ session, questions, outcome }: ReadRun): Promise<readonly CallerQuestion[]> =>
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
