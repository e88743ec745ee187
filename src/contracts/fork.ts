// How a run began: with which agents, or out of which other run.
import type { Hash, RunId } from '#base';
import type { GrantName } from './crossing.ts';

/** How a run was started, so that it can go on with the same agents. */
export type RunStartInfo = {
  /** Absolute paths of agent files, folders and modules. */
  readonly agents: readonly string[];
  readonly config?: string;
  readonly cwd: string;
};

/** What a fork changed, as its log keeps it. */
export type Amendment = {
  /** The agent that it is about, by name. */
  readonly agent: string;
  readonly model?: string;
  readonly withoutGrants?: readonly GrantName[];
  readonly goal?: string;
};

/** Where the log of a fork came from. */
export type ForkOrigin = {
  readonly run: RunId;
  /** How many of its frames were kept, and a hash over them. */
  readonly frames: number;
  readonly hash: Hash;
  readonly at: string;
  /** When: epoch milliseconds. What was kept ends earlier, and the time between counts for no deadline. */
  readonly forkedAt: number;
};
