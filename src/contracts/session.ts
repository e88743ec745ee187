import type { CellId, Failure, Json, PublicFailure, RunId } from '#base';
import type { Spent } from './amounts.ts';

/** How a session ended. `partial`: with an answer that lacks something. `limit`, `budget`, `timeout`: what stopped it. */
export type Status = 'completed' | 'partial' | 'failed' | 'cancelled' | 'limit' | 'budget' | 'timeout';

/** How a session ended. `output` may be empty only if `failure` says why. */
export type Outcome<Data = Json> = {
  /** How it ended; `failure` says more. */
  readonly status: Status;
  /** For an agent with JSON output: the answer as text, or nothing. */
  readonly output: string;
  /** For an agent with JSON output: the answer as JSON, or null. For a team: a summary of its tasks, or its plan. */
  readonly data: Data | null;
  /** Why there is no answer, or only a partial one; null if it completed. */
  readonly failure: Failure | null;
  /** Names of the children whose answers are missing or incomplete, and of spawned agents that did not finish their work. */
  readonly missing: readonly string[];
  /** Spawned agents that did not finish, or whose last words the session has not read. They are no part of `output`. */
  readonly spawned?: readonly SpawnedOutcome[];
  /** What it and everything below it used. */
  readonly spent: Spent;
};

/** How an agent that the session spawned ended. */
export type SpawnedOutcome = {
  readonly agent: string;
  /** The report of this cell holds the whole output. */
  readonly cell: CellId;
  readonly status: Status;
  /** Why it is in `missing`; null if it finished its work. */
  readonly why: string | null;
  /** What it wrote for the session. If `bytes` is set, only the beginning of that many bytes. */
  readonly output: string;
  readonly bytes?: number;
};

/** Everything a parent learns about a child: the content of its `result` crossing, as JSON. */
export type Envelope = {
  readonly status: Status;
  readonly output: string;
  readonly error: PublicFailure | null;
  readonly missing: readonly string[];
  /** Outside, all of it. To a parent, names and statuses of those that did not finish: no grant leads from them to it. */
  readonly spawned?: readonly (Pick<SpawnedOutcome, 'agent' | 'status'> & Partial<SpawnedOutcome>)[];
  /** For a spawned agent: the name its parent uses for it. */
  readonly agent_id?: string;
};

/** The settled value of a child operation: the number of the envelope's entry in the parent's ledger. */
export type ChildResultRef = { readonly crossing: number };

/** How a run ended: the outcome of its root cell, with the ids of both. */
export type RunOutcome<Data = Json> = Outcome<Data> & { readonly run: RunId; readonly cell: CellId };
