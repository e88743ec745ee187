import type { Amounts, ChildOperation, ChildRequest, Crossed, TeamPart } from '#contracts';

/** A child that is about to begin, with everything that its run knows about it. */
export type StartedChild = ChildOperation & {
  readonly goal: Crossed<'goal'> | null;
  readonly caps: Amounts;
  readonly deadline: number;
  /** Names of the agents above it, root first, its own last. Used to refuse cycles, never shown. */
  readonly ancestry: readonly string[];
  /** Whether it was given a part of its caller's window. */
  readonly shares?: boolean;
  readonly groupTokens?: number | undefined;
  /** For a team: the budget reserved for its final answer. */
  readonly floor?: Amounts | undefined;
  readonly task?: TeamPart | undefined;
  readonly check?: ChildRequest['check'];
};
