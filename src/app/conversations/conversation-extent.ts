// How far a conversation had come at the moment of a checkpoint of one of its turns.
//
//   M1. Of a run that goes on the moment is now. Of one that stands still it is that of its last record: what others have said
//       since then is not before it.
//   M2. An agent takes one turn at a time: its next one began after this one stood still, whatever the clock says.
import type { Checkpoint } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { isTurnOver, reachedBy } from './active-runs.ts';
import { lineWith } from './turn-chain.ts';
import type { TurnNode } from './turn-chain.ts';

export type ConversationExtent = Pick<Checkpoint, 'newest' | 'others'>;

/** `at`: when the run of this turn stood still; null: it goes on. */
export const conversationExtent = async (
  found: ConversationState,
  node: TurnNode,
  { at, keeping }: { readonly at: number | null; readonly keeping: ConversationPorts },
): Promise<ConversationExtent> => {
  const line = lineWith(node, found.newest);
  const place = line.findIndex(({ run }) => run === node.run);
  const begun = at === null ? line : [...line.slice(0, place + 1), ...begunBy(line.slice(place + 1), node.agent, at)];
  const open = begun.filter((turn) => turn.run !== node.run && turn.frames === null && !isOverBy(turn, found, at));
  const others = at === null ? await reachedNow(found, open, keeping) : await reachedThen(open, at, keeping);
  return {
    ...(begun.length === line.length ? {} : { newest: begun.at(-1)!.run }),
    ...(others.length === 0 ? {} : { others }),
  };
};

const begunBy = (later: readonly TurnNode[], agent: string, at: number): readonly TurnNode[] => {
  const end = later.findIndex((turn) => turn.agent === agent || turn.at > at);
  return end < 0 ? later : later.slice(0, end);
};

const isOverBy = ({ run }: TurnNode, { ended }: ConversationState, at: number | null): boolean => {
  const end = ended.get(run);
  return end !== undefined && (at === null || end.at <= at);
};

type Others = NonNullable<Checkpoint['others']>;

const reachedNow = (
  found: ConversationState,
  open: readonly TurnNode[],
  keeping: ConversationPorts,
): Promise<Others> => {
  const { store, reader } = keeping;
  return reachedBy(
    store,
    open.flatMap(({ run }) => (isTurnOver(found, run, reader) ? [] : [run])),
  );
};

const reachedThen = async (open: readonly TurnNode[], at: number, { reader }: ConversationPorts): Promise<Others> => {
  const others: { readonly run: TurnNode['run']; readonly frames: number }[] = [];
  for (const { run } of open) {
    const frames = await reader.framesBy(run, at);
    if (frames !== null) others.push({ run, frames });
  }
  return others;
};
