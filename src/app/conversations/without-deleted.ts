// The state of a workspace without the runs that were deleted.
//
//   deleted-run-counts-nowhere. It is no turn of a conversation, and has no checkpoint. The turns before and after it follow each
//       other. If it is imported again, it has its former place.
import type { RunId } from '#base';
import type { Checkpoint } from '#contracts';
import type { TurnNode } from './entries.ts';
import type { ConversationState, WorkspaceState } from './workspace-state.ts';

type Gone = Pick<ReadonlyMap<RunId, unknown>, 'has'>;

export const withoutDeleted = (state: WorkspaceState): WorkspaceState => {
  const { conversations, checkpoints, newestTurnByCheckpoint, deleted } = state;
  if (deleted.size === 0) return state;
  const chain = chainsWithout(deleted);
  const kept = [...checkpoints].filter(([, { run }]) => !deleted.has(run));
  return {
    ...state,
    conversations: new Map(
      [...conversations].flatMap(([key, one]) => {
        const shown = conversationWithout(one, deleted, chain);
        return isEmpty(shown, one) ? [] : [[key, shown] as const];
      }),
    ),
    checkpoints: new Map(kept.map(([id, one]) => [id, checkpointWithout(one, deleted)])),
    newestTurnByCheckpoint: new Map([...newestTurnByCheckpoint].map(([id, newest]) => [id, chain(newest)])),
  };
};

type Chain = (newest: TurnNode | null) => TurnNode | null;

/** Each turn is looked at once. Chains without deleted runs stay the same objects. */
const chainsWithout = (gone: Gone): Chain => {
  const known = new Map<TurnNode | null, TurnNode | null>([[null, null]]);
  return (newest) => {
    const turns: TurnNode[] = [];
    for (let node = newest; node !== null && !known.has(node); node = node.previous) turns.push(node);
    for (const node of turns.toReversed()) known.set(node, turnWithout(node, known.get(node.previous) ?? null, gone));
    return known.get(newest) ?? null;
  };
};

/** A run that continues a cut holds the frames of that cut itself. */
const turnWithout = (node: TurnNode, previous: TurnNode | null, gone: Gone): TurnNode | null => {
  if (gone.has(node.run)) return previous;
  const isCutGone = node.from !== null && gone.has(node.from.run);
  if (!isCutGone && previous === node.previous) return node;
  return { ...node, previous, from: isCutGone ? null : node.from };
};

/** Nothing is left of it, and nobody was given access to it. */
const isEmpty = (shown: ConversationState, before: ConversationState): boolean =>
  shown.nodes.size === 0 && before.nodes.size > 0 && shown.branched === null && shown.attached.length === 0;

const conversationWithout = (found: ConversationState, gone: Gone, chain: Chain): ConversationState => {
  const nodes = [...found.nodes].flatMap(([run, node]) => {
    const kept = gone.has(run) ? null : chain(node);
    return kept === null ? [] : [[run, kept] as const];
  });
  const isWhole = nodes.every(([run, node]) => found.nodes.get(run) === node);
  const isBranchGone = found.branched?.turns.some(({ run }) => gone.has(run)) === true;
  if (isWhole && nodes.length === found.nodes.size && !isBranchGone) return found;
  const { branched } = found;
  return {
    ...found,
    newest: chain(found.newest),
    nodes: new Map(nodes),
    ended: new Map([...found.ended].filter(([run]) => !gone.has(run))),
    branched: branched && { ...branched, turns: branched.turns.filter(({ run }) => !gone.has(run)) },
  };
};

/** Without a newest turn, that is the newest one recorded before the checkpoint. */
const checkpointWithout = (checkpoint: Checkpoint, gone: Gone): Checkpoint => {
  const { newest, others, ...rest } = checkpoint;
  if ((newest === undefined || !gone.has(newest)) && others?.some(({ run }) => gone.has(run)) !== true)
    return checkpoint;
  return {
    ...rest,
    ...(newest === undefined || gone.has(newest) ? {} : { newest }),
    ...(others === undefined ? {} : { others: others.filter(({ run }) => !gone.has(run)) }),
  };
};
