// Continues a run with the results of its client's tools.
import { CloisterError } from '#base';
import type { ErrorCode } from '#base';
import type { Caller, ClientToolResults, ServedRun } from '#contracts';
import { deliver } from './client-tools.ts';
import type { AcceptedResults, ClientTools } from './client-tools.ts';
import { serveClientRequest, subscribeEvents } from './served-run.ts';
import type { ActiveRun } from './served-run.ts';

type ResultsRequest = {
  readonly caller: Caller;
  readonly given: ClientToolResults;
  /** Throws if the server stops. */
  readonly checkOpen: () => void;
};

/** Null: the run does not wait for these results, and nothing was accepted. */
export const continueClientRun = async (
  tools: ClientTools,
  active: ActiveRun,
  request: ResultsRequest,
  options: Parameters<typeof serveClientRequest>[3],
): Promise<ServedRun | null> => {
  const { caller, given, checkOpen } = request;
  const { session } = active;
  const { results, oneCall = false } = given;
  const client = await tools.findOrAttach(caller, session);
  return client.inTurn(async () => {
    checkOpen();
    const accepted = await tools.accept(session, results);
    if (accepted === null) return null;
    if (client.isAnswering)
      throw new CloisterError('run_owned', `Another request waits for the answer of run ${session.run}.`);
    const more = tools.laterTools(given.tools);
    if (more !== null) await session.do(more);
    const events = subscribeEvents(active, given, options.signal);
    await deliverAll(active, accepted.fresh, request, options.signal);
    await session.durable();
    const waiting = await session.clientCalls();
    return serveClientRequest(active, client, { oneCall, after: accepted.after, waiting }, { ...options, events });
  });
};

/**
 * Hands over all of them, once the run has a slot, with the messages that came along: the run's next request shows both. It releases the
 * slot itself when it waits again.
 */
const deliverAll = async (
  { slot, session }: ActiveRun,
  results: AcceptedResults['fresh'],
  { caller, given, checkOpen }: ResultsRequest,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const addMessages = (): void => {
    for (const text of given.messages) session.addContext(text);
  };
  if (results.length === 0) return addMessages();
  await slot.runWithSlot(() => undefined, signal);
  try {
    checkOpen();
    const delivered = Promise.all(results.map((result) => deliver(caller, session, result)));
    addMessages();
    await delivered;
  } catch (error) {
    if (session.waitsForPeople) slot.release();
    throw error;
  }
};

/** What `find` resolves to; null if it fails because nobody can continue the run. */
export const nullIfLost = async <T>(find: () => Promise<T>): Promise<T | null> => {
  try {
    return await find();
  } catch (error) {
    if (error instanceof CloisterError && lostRunCodes.includes(error.code)) return null;
    throw error;
  }
};

/** What the results of such a run say is then known to the client alone. */
const lostRunCodes: readonly ErrorCode[] = [
  'run_unknown',
  'run_ended',
  'run_format',
  'replay_differs',
  'tools_gone',
  'agent_unknown',
];
