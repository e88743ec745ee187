// How a run began: with which agents, or as a fork of which run.
import type { Hash, RunId } from '#base';
import type { GrantName } from './crossing.ts';

/** How a run was started, so that it can be resumed with the same agents. */
export type RunStartInfo = {
  /** Absolute paths of agent files, folders and modules. */
  readonly agents: readonly string[];
  readonly config?: string;
  readonly cwd: string;
};

/** What a fork changed, as recorded in its log. */
export type Amendment = {
  /** The name of the changed agent. */
  readonly agent: string;
  readonly model?: string;
  readonly withoutGrants?: readonly GrantName[];
  readonly goal?: string;
};

/** Where a fork's log comes from. */
export type ForkOrigin = {
  readonly run: RunId;
  /** How many of its frames were kept, and a hash of them. */
  readonly frames: number;
  readonly hash: Hash;
  readonly at: string;
  /** Epoch milliseconds. The kept frames end earlier; the time between does not count towards any deadline. */
  readonly forkedAt: number;
};
