import type { ConversationSummary } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import type { RunStates } from './active-runs.ts';
import { listTurns } from './turn-chain.ts';

/** A conversation for lists. `states`: of the runs that have not ended according to the workspace log. */
export const conversationSummary = (found: ConversationState, states: RunStates): ConversationSummary => {
  const turns = listTurns(found);
  const times = turns.map(({ run }) => found.ended.get(run)?.at ?? states.get(run)?.endedAt ?? 0);
  return {
    ...found.ref,
    attached: found.attached,
    turns: turns.length,
    startedAt: found.startedAt,
    newestAt: times.reduce((newest, at) => Math.max(newest, at), found.newestAt),
    running: [...found.nodes.keys()].filter((run) => states.get(run)?.state === 'running'),
    branchedFrom: found.branched?.checkpoint ?? null,
    deletedAt: found.deletedAt,
  };
};
