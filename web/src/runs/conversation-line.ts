// A conversation as a line: what the person said, what the agent answered, and the checkpoints between.
import type { Checkpoint } from '#contracts';
import { clockTime } from '#headends/run-view';

export type ConversationTurn = {
  readonly run: string;
  readonly goal: string;
  readonly output: string;
  readonly status: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly spent: { readonly usd: number | null } | null;
  /** The runs that were this turn at some time, oldest first, with the one that counts. */
  readonly versions?: readonly string[];
};

export type ShownCheckpoint = Pick<Checkpoint, 'id' | 'at' | 'why' | 'label'> & { readonly run: string };

/** A conversation that began at a checkpoint of this one. */
export type ConversationBranch = {
  readonly agent: string;
  readonly name: string;
  readonly checkpoint?: string | null;
};

export type ConversationFacts = {
  readonly agent: string;
  readonly name: string;
  readonly turns: readonly ConversationTurn[];
  /** Whether there are turns before these. */
  readonly more?: boolean;
  readonly checkpoints?: readonly ShownCheckpoint[];
  readonly branches?: readonly ConversationBranch[];
};

export type LineEntry =
  | { readonly kind: 'person' | 'agent'; readonly at: number; readonly turn: ConversationTurn }
  | {
      readonly kind: 'checkpoint';
      readonly at: number;
      readonly checkpoint: ShownCheckpoint;
      /** How many turns came after it: going back takes them out of the conversation. */
      readonly turnsAfter: number;
    };

/** In the order of time; at the same time, a checkpoint comes after the answer that it keeps. */
export const conversationLine = ({ turns, checkpoints = [] }: ConversationFacts): readonly LineEntry[] => {
  const said = turns.flatMap((turn): readonly LineEntry[] => [
    { kind: 'person', at: turn.startedAt, turn },
    ...(turn.endedAt === null && turn.output === ''
      ? []
      : [{ kind: 'agent' as const, at: turn.endedAt ?? turn.startedAt, turn }]),
  ]);
  const kept = checkpoints.map((checkpoint): LineEntry => ({
    kind: 'checkpoint',
    at: checkpoint.at,
    checkpoint,
    turnsAfter: turns.filter(({ startedAt }) => startedAt > checkpoint.at).length,
  }));
  const order = { person: 0, agent: 1, checkpoint: 2 };
  return [...said, ...kept].sort((one, other) => one.at - other.at || order[one.kind] - order[other.kind]);
};

/** The checkpoint that belongs to a run: the newest of its own, else the newest of all. */
export const checkpointOf = (line: readonly LineEntry[], run: string): ShownCheckpoint | undefined => {
  const kept = line.flatMap((entry) => (entry.kind === 'checkpoint' ? [entry.checkpoint] : []));
  return kept.findLast((one) => one.run === run) ?? kept.at(-1);
};

/** `kept after the turn`, or what the person wrote. */
export const checkpointWords = ({ why, label }: ShownCheckpoint): string =>
  label !== '' ? label : why === 'autosave' ? 'kept after the turn' : 'taken by you';

/** `branch from the checkpoint of 06:41:10`. */
export const branchWords = ({ checkpoint }: ConversationBranch, { checkpoints = [] }: ConversationFacts): string => {
  const from = checkpoints.find(({ id }) => id === checkpoint);
  return from === undefined ? 'branch' : `branch from the checkpoint of ${clockTime(from.at)}`;
};

export const backWords = (turns: number): string => {
  if (turns === 0) return 'Nothing came after it: the conversation stays as it is.';
  return turns === 1
    ? 'The turn after it leaves the conversation. Its run is kept.'
    : `The ${turns} turns after it leave the conversation. Their runs are kept.`;
};
