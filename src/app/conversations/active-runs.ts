// Which runs of a conversation are running, in this process or another one.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { RunLog, RunSummary, Store } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import type { EntryReader } from './entry-reader.ts';
import type { TurnNode } from './entries.ts';

export type RunStates = ReadonlyMap<RunId, RunSummary>;

/** Reads only these runs: a workspace may have many others. */
export const runStates = async (store: Store, runs: readonly RunId[]): Promise<RunStates> =>
  runs.length === 0 ? new Map() : new Map((await store.list({ runs })).map((summary) => [summary.run, summary]));

/** Runs that have not ended according to the workspace log. */
export const unfinishedRuns = ({ nodes, ended }: ConversationState): readonly RunId[] =>
  [...nodes.keys()].filter((run) => !ended.has(run));

/** Whether a turn is known to have ended, from the workspace log or because the log of its run was read. */
export const isTurnOver = ({ ended }: ConversationState, run: RunId, reader: Pick<EntryReader, 'isEnded'>): boolean =>
  ended.has(run) || reader.isEnded(run);

/** Throws `conversation_busy`, naming the run. */
export const checkIdle = async (
  store: Store,
  { nodes, ended }: ConversationState,
  among: (node: TurnNode) => boolean,
): Promise<void> => {
  const candidates = [...nodes.values()].filter((node) => !ended.has(node.run) && among(node));
  const states = await runStates(
    store,
    candidates.map(({ run }) => run),
  );
  for (const { run, agent } of candidates)
    if (await isRunning(store, run, states)) throw new CloisterError('conversation_busy', `Run ${run} of "${agent}".`);
};

/** The number of frames of each run that has not ended. */
export const countFrames = async (
  store: Store,
  runs: readonly RunId[],
): Promise<readonly { readonly run: RunId; readonly frames: number }[]> => {
  const states = await runStates(store, runs);
  const reached: { readonly run: RunId; readonly frames: number }[] = [];
  for (const run of runs) {
    const state = states.get(run)?.state;
    // Nothing more can be read from a damaged log.
    if (state === 'ended' || state === 'damaged') continue;
    reached.push({ run, frames: state === undefined ? 0 : (await store.hashPrefix(run)).frames });
  }
  return reached;
};

/** A run that is in the workspace log but has no frames yet is about to start if a process owns it. */
const isRunning = async (store: Store, run: RunId, states: RunStates): Promise<boolean> => {
  const state = states.get(run)?.state;
  if (state !== undefined) return state === 'running';
  const log = await acquireIfFree(store, run);
  await log?.close();
  return log === undefined;
};

const acquireIfFree = async (store: Store, run: RunId): Promise<RunLog | undefined> => {
  try {
    return await store.acquireRun(run);
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'run_owned') return undefined;
    throw error;
  }
};

/** Locks runs of a conversation, so that nobody resumes them between reading the workspace log and appending to it. */
export class RunLocks {
  readonly #store: Store;
  readonly #logs = new Map<RunId, RunLog>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Locks the runs that have not ended. Throws `conversation_busy`, naming a run that another process owns. */
  async acquire({ nodes, ended }: ConversationState, among: (node: TurnNode) => boolean): Promise<void> {
    const candidates = [...nodes.values()].filter(
      (node) => !ended.has(node.run) && among(node) && !this.#logs.has(node.run),
    );
    const states = await runStates(
      this.#store,
      candidates.map(({ run }) => run),
    );
    for (const { run, agent } of candidates) {
      const state = states.get(run)?.state;
      // probe: held-run-ended
      if (state === 'ended') continue;
      const log = state === 'running' ? undefined : await acquireIfFree(this.#store, run);
      if (log === undefined) throw new CloisterError('conversation_busy', `Run ${run} of "${agent}".`);
      this.#logs.set(run, log);
    }
  }

  /** Ignores failures, because the change is already decided. A lock that cannot be released is released when the store closes. */
  async release(): Promise<void> {
    const logs = [...this.#logs.values()];
    this.#logs.clear();
    await Promise.allSettled(logs.map((log) => log.close()));
  }
}
