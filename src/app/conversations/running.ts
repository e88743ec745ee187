// Which runs of a conversation are under way, in this process or in another one.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { RunLog, RunSummary, Store } from '#contracts';
import type { ConversationState, TurnNode } from './book-state.ts';

export type RunStates = ReadonlyMap<RunId, RunSummary>;

export const runStates = async (store: Store): Promise<RunStates> =>
  new Map((await store.list()).map((summary) => [summary.run, summary]));

/** Throws `conversation_busy`, naming the run. */
export const checkIdle = async (
  store: Store,
  { nodes }: ConversationState,
  among: (node: TurnNode) => boolean,
): Promise<void> => {
  const asked = [...nodes.values()].filter(among);
  if (asked.length === 0) return;
  const states = await runStates(store);
  for (const { run, agent } of asked)
    if (await isUnderWay(store, run, states)) throw new CloisterError('conversation_busy', `Run ${run} of "${agent}".`);
};

/** One that is in the book and has no record yet is about to begin, if somebody has it. */
const isUnderWay = async (store: Store, run: RunId, states: RunStates): Promise<boolean> => {
  const state = states.get(run)?.state;
  if (state !== undefined) return state === 'running';
  const log = await ownIfFree(store, run);
  await log?.close();
  return log === undefined;
};

const ownIfFree = async (store: Store, run: RunId): Promise<RunLog | undefined> => {
  try {
    return await store.own(run);
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'run_owned') return undefined;
    throw error;
  }
};

/** Runs of a conversation that nobody goes on with as long as they are held: between a look at the book and its next page. */
export class HeldRuns {
  readonly #store: Store;
  readonly #logs = new Map<RunId, RunLog>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Holds those that have not ended. Throws `conversation_busy`, naming the run that somebody else has. */
  async hold({ nodes }: ConversationState, among: (node: TurnNode) => boolean): Promise<void> {
    const asked = [...nodes.values()].filter((node) => among(node) && !this.#logs.has(node.run));
    if (asked.length === 0) return;
    const states = await runStates(this.#store);
    for (const { run, agent } of asked) {
      const state = states.get(run)?.state;
      if (state === 'ended') continue;
      const log = state === 'running' ? undefined : await ownIfFree(this.#store, run);
      if (log === undefined) throw new CloisterError('conversation_busy', `Run ${run} of "${agent}".`);
      this.#logs.set(run, log);
    }
  }

  /** Whatever was decided stays decided: what cannot be given back is given back when its store closes. */
  async release(): Promise<void> {
    const logs = [...this.#logs.values()];
    this.#logs.clear();
    await Promise.allSettled(logs.map((log) => log.close()));
  }
}
