// Continues a run with the results of its client's tools.
import { CloisterError } from '#base';
import type { Caller, ClientToolResults, RunCommand, ServedRun } from '#contracts';
import { deliver } from './client-tools.ts';
import type { AcceptedResults, ClientTools } from './client-tools.ts';
import { serveClientRequest, subscribeEvents } from './served-run.ts';
import type { ActiveRun, ReadRun } from './served-run.ts';

/** What a client brings to its run. */
type Delivery = {
  readonly results: AcceptedResults['fresh'];
  readonly tools: RunCommand<'add-tools'> | null;
  readonly messages: readonly string[];
};

/** A run that waits for its client, here or in another process. */
export type ClientRunTarget = {
  readonly read: ReadRun;
  /** Resolves when it is on disk. */
  deliver(delivery: Delivery, signal: AbortSignal | undefined): Promise<void>;
};

type ResultsRequest = {
  readonly caller: Caller;
  readonly given: ClientToolResults;
  /** Throws if the server stops. */
  readonly checkOpen: () => void;
};

/** Null: the run does not wait for these results, and nothing was accepted. */
export const continueClientRun = async (
  tools: ClientTools,
  target: ClientRunTarget,
  { caller, given, checkOpen }: ResultsRequest,
  options: Parameters<typeof serveClientRequest>[3],
): Promise<ServedRun | null> => {
  const { session } = target.read;
  const { results, oneCall = false, messages } = given;
  const client = await tools.findOrAttach(caller, session);
  return client.inTurn(async () => {
    checkOpen();
    const accepted = await tools.accept(session, results);
    if (accepted === null) return null;
    if (client.isAnswering)
      throw new CloisterError('run_owned', `Another request waits for the answer of run ${session.run}.`);
    const events = subscribeEvents(target.read, given, options.signal);
    const { fresh, after } = accepted;
    await target.deliver({ results: fresh, tools: tools.laterTools(given.tools), messages }, options.signal);
    const isSent = (id: string): boolean => fresh.some((one) => one.waiting.id === id);
    const waiting = (await session.clientCalls()).filter(({ id }) => !isSent(id));
    return serveClientRequest(target.read, client, { oneCall, after, waiting }, { ...options, events });
  });
};

/**
 * Hands over all of them, once the run has a slot, with the messages that came along: the run's next request shows both. It releases the
 * slot itself when it waits again.
 */
export const clientRunHere = (active: ActiveRun, caller: Caller, checkOpen: () => void): ClientRunTarget => ({
  read: active,
  async deliver({ results, tools, messages }, signal) {
    const { slot, session } = active;
    if (tools !== null) await session.do(tools);
    const addMessages = (): void => {
      for (const text of messages) session.addContext(text);
    };
    if (results.length === 0) addMessages();
    else {
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
    }
    await session.durable();
  },
});
