import type { CellId, Failure, Json, PublicFailure, RunId } from '#base';
import type { Spent } from './amounts.ts';

export type Status = 'completed' | 'partial' | 'failed' | 'cancelled' | 'limit' | 'budget' | 'timeout';

/** How a session ended: the same shape each time. `output` may be empty only when `failure` says why. */
export type Outcome = {
  readonly status: Status;
  readonly output: string;
  /** The parsed answer of an agent whose output format is JSON; of a team, its tasks in short, or its plan. */
  readonly data: Json;
  readonly failure: Failure | null;
  /** Children whose answers are not in, or not whole, by name. */
  readonly missing: readonly string[];
  readonly spent: Spent;
};

/** All that a parent learns of a child: the content of its `result` crossing, as JSON. */
export type Envelope = {
  readonly status: Status;
  readonly output: string;
  readonly error: PublicFailure | null;
  readonly missing: readonly string[];
  /** Of a spawned agent: the name that its parent knows it by. */
  readonly agent_id?: string;
};

/** The settled value of a child operation: where the parent's ledger has the envelope. */
export type ChildResultRef = { readonly crossing: number };

export type RunOutcome = Outcome & { readonly run: RunId; readonly cell: CellId };
