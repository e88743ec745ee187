// Which runs of a conversation are under way, in this process or in another one.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { RunSummary, Store } from '#contracts';
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
  try {
    const log = await store.own(run);
    await log.close();
    return false;
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'run_owned') return true;
    throw error;
  }
};
