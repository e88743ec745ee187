// The turns of a conversation as a linked list: each refers to the previous one, so that chains share a common start.
import type { RunId } from '#base';
import type { Checkpoint } from '#contracts';

export type TurnNode = {
  readonly run: RunId;
  readonly agent: string;
  readonly at: number;
  readonly previous: TurnNode | null;
  /** The checkpoint that its run continues from, if any. */
  readonly from: Checkpoint | null;
  /** How many frames count; null: all of them. */
  readonly frames: number | null;
};

/** The turns up to the newest, oldest first. */
export const listTurns = ({ newest }: { readonly newest: TurnNode | null }): readonly TurnNode[] => {
  const turns: TurnNode[] = [];
  for (let node = newest; node !== null; node = node.previous) turns.push(node);
  return turns.toReversed();
};

/** Links these turns in this order and returns the newest. */
export const linkTurns = (turns: readonly TurnNode[]): TurnNode | null =>
  turns.reduce<TurnNode | null>((previous, turn) => (turn.previous === previous ? turn : { ...turn, previous }), null);

/**
 * The turns that counted when a checkpoint of one of them was taken, each as far as it had progressed. `newest`: the newest turn
 * of the conversation at that time. For a turn that no longer counted, the turns up to it.
 */
export const turnsAt = (
  { run, frames, newest: last, others = [] }: Checkpoint,
  node: TurnNode,
  newest: TurnNode | null,
): readonly TurnNode[] => {
  const chain = chainWith(node, newest);
  const end = chain.findIndex((turn) => turn.run === last);
  const turns = end < 0 ? chain : chain.slice(0, end + 1);
  const reached = new Map(others.map((one) => [one.run, one.frames]));
  return turns.flatMap((turn) => {
    if (turn.run === run) return [{ ...turn, frames }];
    const most = reached.get(turn.run);
    if (most === undefined) return [turn];
    // A turn without any entry at that time does not count.
    return most === 0 && turn.from === null ? [] : [{ ...turn, frames: Math.min(most, turn.frames ?? most) }];
  });
};

/** The turns up to the newest; if this turn no longer counts, the turns up to it. */
export const chainWith = (node: TurnNode, newest: TurnNode | null): readonly TurnNode[] => {
  const chain = listTurns({ newest });
  return chain.some(({ run }) => run === node.run) ? chain : listTurns({ newest: node });
};

/** The chain after a restore: the checkpoint's own turn in full, or the run that replaces it; the others as they were. */
export const restoredChain = (turns: readonly TurnNode[], run: RunId, own: Partial<TurnNode>): TurnNode | null =>
  linkTurns(turns.map((turn) => (turn.run === run ? { ...turn, frames: null, ...own } : turn)));

export const isSameChain = (one: TurnNode | null, other: TurnNode | null): boolean => {
  let [left, right] = [one, other];
  while (left !== right) {
    if (left?.run !== right?.run || left?.frames !== right?.frames) return false;
    [left, right] = [left?.previous ?? null, right?.previous ?? null];
  }
  return true;
};
