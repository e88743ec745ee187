// Which runs of a conversation are under way, in this process or in another one.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { RunLog, RunSummary, Store } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import type { EntryReader } from './entry-reader.ts';
import type { TurnNode } from './turn-chain.ts';

export type RunStates = ReadonlyMap<RunId, RunSummary>;

/** Of these runs only: a workspace may have many others. */
export const runStates = async (store: Store, runs: readonly RunId[]): Promise<RunStates> =>
  runs.length === 0 ? new Map() : new Map((await store.list({ runs })).map((summary) => [summary.run, summary]));

/** Those that the book does not say are over. */
export const openRuns = ({ nodes, ended }: ConversationState): readonly RunId[] =>
  [...nodes.keys()].filter((run) => !ended.has(run));

/** Whether a turn is known to be over, by the book or because its log was read. */
export const isTurnOver = ({ ended }: ConversationState, run: RunId, reader: Pick<EntryReader, 'ended'>): boolean =>
  ended.has(run) || reader.ended(run);

/** Throws `conversation_busy`, naming the run. */
export const checkIdle = async (
  store: Store,
  { nodes, ended }: ConversationState,
  among: (node: TurnNode) => boolean,
): Promise<void> => {
  const asked = [...nodes.values()].filter((node) => !ended.has(node.run) && among(node));
  const states = await runStates(
    store,
    asked.map(({ run }) => run),
  );
  for (const { run, agent } of asked)
    if (await isUnderWay(store, run, states)) throw new CloisterError('conversation_busy', `Run ${run} of "${agent}".`);
};

/** How many frames there are of those that have not ended. */
export const reachedBy = async (
  store: Store,
  runs: readonly RunId[],
): Promise<readonly { readonly run: RunId; readonly frames: number }[]> => {
  const states = await runStates(store, runs);
  const reached: { readonly run: RunId; readonly frames: number }[] = [];
  for (const run of runs) {
    const state = states.get(run)?.state;
    // What is damaged says no more.
    if (state === 'ended' || state === 'damaged') continue;
    reached.push({ run, frames: state === undefined ? 0 : (await store.hashPrefix(run)).frames });
  }
  return reached;
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
    return await store.acquireRun(run);
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'run_owned') return undefined;
    throw error;
  }
};

/** Runs of a conversation that nobody goes on with as long as they are held: between a look at the book and its next page. */
export class RunLocks {
  readonly #store: Store;
  readonly #logs = new Map<RunId, RunLog>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Holds those that have not ended. Throws `conversation_busy`, naming the run that somebody else has. */
  async hold({ nodes, ended }: ConversationState, among: (node: TurnNode) => boolean): Promise<void> {
    const asked = [...nodes.values()].filter(
      (node) => !ended.has(node.run) && among(node) && !this.#logs.has(node.run),
    );
    const states = await runStates(
      this.#store,
      asked.map(({ run }) => run),
    );
    for (const { run, agent } of asked) {
      const state = states.get(run)?.state;
      // probe: held-run-ended
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
