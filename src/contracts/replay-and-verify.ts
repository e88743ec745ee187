// What can be checked of runs after the fact: replay, forks and their differences, non-interference.
import type { CellId, Hash, RunId } from '#base';
import type { Spent } from './amounts.ts';
import type { GrantName } from './crossing.ts';
import type { DurableEvent } from './event.ts';
import type { Amendment, ForkOrigin } from './fork.ts';
import type { Outcome, Status } from './session.ts';

/** A run made again from its log alone; models, tools and the network were not touched. */
export type ReplayReport = {
  readonly run: RunId;
  /** Every record came out the same. */
  readonly ok: boolean;
  /** How many records the log has, and how many of them came out the same. */
  readonly frames: number;
  readonly same: number;
  /** One hash over all records: as they are in the log, and as they came out now. */
  readonly hash: { readonly recorded: Hash; readonly replayed: Hash };
  /** Of the replay; null when the log has no end. */
  readonly outcome: Outcome | null;
  /** Made of the replayed records. */
  readonly events: readonly DurableEvent[];
  /** Where today's code, or today's agents, would decide differently; in the order of the log. */
  readonly differences: readonly ReplayDifference[];
};

export type ReplayDifference = {
  /** Null for what the log does not have. */
  readonly frame: number | null;
  readonly cell: CellId;
  readonly agent: string;
  /** The operation's number in its cell; null for the beginning or the end of a cell. */
  readonly op: number | null;
  /** In words: `its model would be shown another prompt`. */
  readonly what: string;
};

/** A new run that keeps the log of another up to an operation and goes on from there with something changed. */
export type ForkOptions = {
  /** `<cell>/<operation>`: the first operation that is not kept. `<cell>` alone: the cell's beginning. */
  readonly at: string;
  /** `<provider>/<model>` for the agent that works at that place, instead of its own models. */
  readonly model?: string;
  /** Grants that this agent loses. */
  readonly withoutGrants?: readonly GrantName[];
  /** Another goal; only where a cell begins. */
  readonly goal?: string;
  readonly signal?: AbortSignal;
};

/** Two runs side by side: cells are matched by their place in the tree. */
export type RunDiff = {
  readonly one: RunId;
  readonly other: RunId;
  /** Set when one is a fork of the other. */
  readonly fork: { readonly run: RunId; readonly from: ForkOrigin; readonly amendment: Amendment } | null;
  /** How many frames are the same from the start. */
  readonly sameFrames: number;
  readonly same: boolean;
  readonly cells: readonly CellDiff[];
};

export type CellDiff = {
  /** Agents from the root down with the number of the call: `lead › researcher #2`. */
  readonly place: string;
  readonly one: CellSide | null;
  readonly other: CellSide | null;
  readonly same: boolean;
  /** Where the two cells part: the first operation that is not the same, and what each did. */
  readonly parts: { readonly op: number; readonly one: string; readonly other: string } | null;
};

export type CellSide = {
  readonly cell: CellId;
  readonly status: Status | null;
  readonly output: string;
  readonly spent: Spent;
  readonly models: readonly string[];
  /** Crossings into and out of it, with refusals: `result refused: no-grant`. */
  readonly crossings: readonly string[];
};

/** What `verify` found of one agent and all below it. */
export type VerifyReport = {
  readonly ok: boolean;
  readonly agent: string;
  readonly pairs: number;
  readonly seed: number;
  /** How many requests, calls, files, environments and records were compared, and their bytes. */
  readonly sights: number;
  readonly bytes: number;
  readonly differences: readonly VerifyDifference[];
  /** What could not be looked at, and why. */
  readonly notes?: readonly string[];
};

/** Two runs that differ only in one cell's private content, and a byte of another cell that differs too. */
export type VerifyDifference = {
  /** Whose eye saw it, and how: `researcher #1: request 3 to the model`. */
  readonly sink: string;
  /** In UTF-16 code units. */
  readonly offset: number;
  readonly one: string;
  readonly other: string;
  /** The cell whose private content was changed. */
  readonly varied: string;
  /** The shortest case that still shows it, and how to run it again. */
  readonly shortest: string;
  readonly again: string;
};
