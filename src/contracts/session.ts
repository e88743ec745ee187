import type { CellId, Failure, Json, PublicFailure, RunId } from '#base';
import type { Spent } from './amounts.ts';

export type Status = 'completed' | 'partial' | 'failed' | 'cancelled' | 'limit' | 'budget' | 'timeout';

/** How a session ended. `output` may be empty only if `failure` says why. */
export type Outcome = {
  readonly status: Status;
  readonly output: string;
  /** For an agent with JSON output: the parsed answer. For a team: a summary of its tasks, or its plan. */
  readonly data: Json;
  readonly failure: Failure | null;
  /** Names of the children whose answers are missing or incomplete. */
  readonly missing: readonly string[];
  readonly spent: Spent;
};

/** Everything a parent learns about a child: the content of its `result` crossing, as JSON. */
export type Envelope = {
  readonly status: Status;
  readonly output: string;
  readonly error: PublicFailure | null;
  readonly missing: readonly string[];
  /** For a spawned agent: the name its parent uses for it. */
  readonly agent_id?: string;
};

/** The settled value of a child operation: the number of the envelope's entry in the parent's ledger. */
export type ChildResultRef = { readonly crossing: number };

export type RunOutcome = Outcome & { readonly run: RunId; readonly cell: CellId };
