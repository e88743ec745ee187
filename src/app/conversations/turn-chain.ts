// The turns of a conversation as a line: each knows the one before it, so that lines with the same beginning share it.
import type { RunId } from '#base';
import type { Checkpoint } from '#contracts';

export type TurnNode = {
  readonly run: RunId;
  readonly agent: string;
  readonly at: number;
  readonly previous: TurnNode | null;
  /** The cut that its log begins with, if it goes on from one. */
  readonly from: Checkpoint | null;
  /** It counts up to so many of its frames; null: all of it counts. */
  readonly frames: number | null;
};

/** The turns up to the newest, oldest first. */
export const turnsOf = ({ newest }: { readonly newest: TurnNode | null }): readonly TurnNode[] => {
  const turns: TurnNode[] = [];
  for (let node = newest; node !== null; node = node.previous) turns.push(node);
  return turns.toReversed();
};

/** The newest of a line of these turns, in this order. */
export const linkTurns = (turns: readonly TurnNode[]): TurnNode | null =>
  turns.reduce<TurnNode | null>((previous, turn) => (turn.previous === previous ? turn : { ...turn, previous }), null);

/**
 * The turns that counted when a checkpoint of one of them was taken, each as far as it had come. `newest`: where their
 * conversation ended then. Of a turn that did not count any more, those before it.
 */
export const turnsAt = (
  { run, frames, newest: last, others = [] }: Checkpoint,
  node: TurnNode,
  newest: TurnNode | null,
): readonly TurnNode[] => {
  const line = lineWith(node, newest);
  const end = line.findIndex((turn) => turn.run === last);
  const turns = end < 0 ? line : line.slice(0, end + 1);
  const reached = new Map(others.map((one) => [one.run, one.frames]));
  return turns.flatMap((turn) => {
    if (turn.run === run) return [{ ...turn, frames }];
    const most = reached.get(turn.run);
    if (most === undefined) return [turn];
    // One that had said nothing by then is none of it.
    return most === 0 && turn.from === null ? [] : [{ ...turn, frames: Math.min(most, turn.frames ?? most) }];
  });
};

/** The turns up to the newest; when this one does not count any more, those up to it. */
export const lineWith = (node: TurnNode, newest: TurnNode | null): readonly TurnNode[] => {
  const line = turnsOf({ newest });
  return line.some(({ run }) => run === node.run) ? line : turnsOf({ newest: node });
};

/** What goes on from a checkpoint: its own turn to its end, or the run that takes its place; all others as they were. */
export const restoredLine = (turns: readonly TurnNode[], run: RunId, own: Partial<TurnNode>): TurnNode | null =>
  linkTurns(turns.map((turn) => (turn.run === run ? { ...turn, frames: null, ...own } : turn)));

export const isSameLine = (one: TurnNode | null, other: TurnNode | null): boolean => {
  let [left, right] = [one, other];
  while (left !== right) {
    if (left?.run !== right?.run || left?.frames !== right?.frames) return false;
    [left, right] = [left?.previous ?? null, right?.previous ?? null];
  }
  return true;
};
