// Checks of runs after the fact: replay, forks and their differences, non-interference.
import type { CellId, Hash, RunId } from '#base';
import type { Budget, Spent } from './amounts.ts';
import type { GrantName } from './crossing.ts';
import type { DurableEvent } from './event.ts';
import type { Amendment, ForkOrigin } from './fork.ts';
import type { Outcome, Status } from './session.ts';

/** The replay of a run from its log alone, without models, tools or the network. */
export type ReplayReport = {
  readonly run: RunId;
  /** Whether every record is the same. */
  readonly ok: boolean;
  /** The number of records in the log, and how many of them are the same in the replay. */
  readonly frames: number;
  readonly same: number;
  /** A hash over all records: of the log, and of the replay. */
  readonly hash: { readonly recorded: Hash; readonly replayed: Hash };
  /** The replay's outcome; null if the log has no end. */
  readonly outcome: Outcome | null;
  /** Projected from the replayed records. */
  readonly events: readonly DurableEvent[];
  /** Where the current code or agents would behave differently, in log order. */
  readonly differences: readonly ReplayDifference[];
};

/** Where a replay does something else than the log says. */
export type ReplayDifference = {
  /** Null for a record that is not in the log. */
  readonly frame: number | null;
  readonly cell: CellId;
  readonly agent: string;
  /** The operation's number in its cell; null for the start or end of a cell. */
  readonly op: number | null;
  /** In words: `its model would be shown another prompt`. */
  readonly what: string;
};

/** Options for a new run that keeps another run's log up to an operation and continues with something changed. */
export type ForkOptions = {
  /** `<cell>/<operation>`: the first operation that is not kept. `<cell>` alone: the start of the cell. */
  readonly at: string;
  /** `<provider>/<model>` that replaces the models of the agent at that point. */
  readonly model?: string;
  /** Grants that this agent loses. */
  readonly withoutGrants?: readonly GrantName[];
  /** Another goal; only allowed at the start of a cell. */
  readonly goal?: string;
  /** Another budget; only allowed at the start of the run. What it does not name stays as it was. Otherwise a fork keeps the budget of its run. */
  readonly budget?: Budget;
  /** Values of environment variables for the fork only, as for `run`. If the forked run had some, they must be passed again. */
  readonly env?: Readonly<Record<string, string>>;
  /** The caller on a server: recorded with the fork, which belongs to it. Without one, it is the operator's. */
  readonly caller?: string;
  /** Rejects with `fork_invalid` if the fork may spend more than this. */
  readonly budgetMax?: Budget;
  /** Aborting it cancels the new run. */
  readonly signal?: AbortSignal;
};

/** The comparison of two runs; cells are matched by their position in the tree. */
export type RunDiff = {
  readonly one: RunId;
  readonly other: RunId;
  /** Set if one is a fork of the other. */
  readonly fork: {
    readonly run: RunId;
    readonly from: ForkOrigin;
    readonly amendment: Amendment;
    /** Set if it is another one than that of the original. */
    readonly budget?: Budget;
  } | null;
  /** How many frames from the start are the same. */
  readonly sameFrames: number;
  /** Whether nothing differs. */
  readonly same: boolean;
  /** Every cell of either run. */
  readonly cells: readonly CellDiff[];
};

/** One place in the tree of cells, in both runs. */
export type CellDiff = {
  /** Agents from the root down with the number of the call: `lead › researcher #2`. */
  readonly place: string;
  readonly one: CellSide | null;
  readonly other: CellSide | null;
  readonly same: boolean;
  /** Where the two cells diverge: the first operation that differs, and what each cell did. */
  readonly parts: { readonly op: number; readonly one: string; readonly other: string } | null;
};

/** What one of two compared cells did. */
export type CellSide = {
  readonly cell: CellId;
  readonly status: Status | null;
  readonly output: string;
  readonly spent: Spent;
  readonly models: readonly string[];
  /** Crossings into and out of it, with refusals: `result refused: no-grant`. */
  readonly crossings: readonly string[];
};

/** The result of `verify` for one agent and all agents below it. */
export type VerifyReport = {
  /** Whether pairs were compared, and no other cell saw a difference. */
  readonly ok: boolean;
  readonly agent: string;
  /** How many pairs of runs were compared, from which seed on. */
  readonly pairs: number;
  readonly seed: number;
  /** How many requests, calls, files, environments and records were compared, and their bytes. */
  readonly sights: number;
  readonly bytes: number;
  /** What another cell could see; empty if the agents are isolated. */
  readonly differences: readonly VerifyDifference[];
  /** What could not be checked, and why. */
  readonly notes?: readonly string[];
};

/** Two runs that differ only in one cell's private content, and a byte of another cell that differs as well. */
export type VerifyDifference = {
  /** Which cell observed it, and where: `researcher #1: request 3 to the model`. */
  readonly sink: string;
  /** In UTF-16 code units. */
  readonly offset: number;
  readonly one: string;
  readonly other: string;
  /** The cell whose private content was changed. */
  readonly varied: string;
  /** The shortest case that still shows the difference, and how to run it again. */
  readonly shortest: string;
  readonly again: string;
};
