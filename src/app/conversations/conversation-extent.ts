// How far a conversation had progressed when a checkpoint of one of its turns was taken.
//
//   checkpoint-cut-is-now. A running run is cut now. A run that is not running is cut at its last record: what other agents
//       said later is not part of the checkpoint.
//   checkpoint-turns-ordered. An agent takes one turn at a time: its next turn began after this one stopped, whatever the
//       clock says.
import type { Checkpoint } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { isTurnOver, countFrames } from './active-runs.ts';
import { chainWith } from './turn-chain.ts';
import type { TurnNode } from './turn-chain.ts';

type ConversationExtent = Pick<Checkpoint, 'newest' | 'others'>;

/** `at`: the time of the run's last record; null: the run is running. */
export const conversationExtent = async (
  found: ConversationState,
  node: TurnNode,
  { at, ports }: { readonly at: number | null; readonly ports: ConversationPorts },
): Promise<ConversationExtent> => {
  const chain = chainWith(node, found.newest);
  const index = chain.findIndex(({ run }) => run === node.run);
  const started =
    at === null ? chain : [...chain.slice(0, index + 1), ...turnsStartedBy(chain.slice(index + 1), node.agent, at)];
  const open = started.filter((turn) => turn.run !== node.run && turn.frames === null && !hadEnded(turn, found, at));
  const others = at === null ? await progressNow(found, open, ports) : await progressAt(open, at, ports);
  return {
    ...(started.length === chain.length ? {} : { newest: started.at(-1)!.run }),
    ...(others.length === 0 ? {} : { others }),
  };
};

const turnsStartedBy = (later: readonly TurnNode[], agent: string, at: number): readonly TurnNode[] => {
  const end = later.findIndex((turn) => turn.agent === agent || turn.at > at);
  return end < 0 ? later : later.slice(0, end);
};

const hadEnded = ({ run }: TurnNode, { ended }: ConversationState, at: number | null): boolean => {
  const end = ended.get(run);
  return end !== undefined && (at === null || end.at <= at);
};

type Others = NonNullable<Checkpoint['others']>;

const progressNow = (
  found: ConversationState,
  open: readonly TurnNode[],
  ports: ConversationPorts,
): Promise<Others> => {
  const { store, reader } = ports;
  return countFrames(
    store,
    open.flatMap(({ run }) => (isTurnOver(found, run, reader) ? [] : [run])),
  );
};

const progressAt = async (open: readonly TurnNode[], at: number, { reader }: ConversationPorts): Promise<Others> => {
  const others: { readonly run: TurnNode['run']; readonly frames: number }[] = [];
  for (const { run } of open) {
    const frames = await reader.framesUntil(run, at);
    if (frames !== null) others.push({ run, frames });
  }
  return others;
};
