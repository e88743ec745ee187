// What a log reader needs from a disk.
import type { RunId } from '#base';
import type { RunQuery } from '#contracts';
import type { FrameRow, Tail } from './chain.ts';
import type { HeadsFile, AcknowledgedHeads } from './heads-folder.ts';
import type { RunOwner } from './processes.ts';
import type { RunFacts } from './run-facts.ts';
import type { SharedRow, SignalRow } from './messages.ts';

/** One entry in the list of runs, and the owner of the run. */
export type RunRow = RunFacts & {
  readonly run: RunId;
  readonly owner: RunOwner | null;
  /** Present where a log can lose frames. */
  readonly tails?: RunTails;
};

/** The last frame of a run, and the tail that its list entry records, both from one snapshot. */
export type RunTails = { readonly last: Tail | undefined; readonly listed: Tail | undefined };

/** Committed data as stored; nothing about it is trusted. */
export type LogRows = {
  /** Throws `store_damaged` when the database is not ours. */
  check(): void;
  /** The frames of a run in order, and the tail that its list entry records, both from one snapshot. */
  log<T>(run: RunId, read: (rows: Iterable<FrameRow>, end: Tail | undefined) => T): T;
  /** For logs that are read in chunks. */
  tails?(run: RunId): RunTails;
  /** At most `count` frames of a run in order, starting at frame `from`; fewer if they are longer than `charsMax` together. */
  chunk?(run: RunId, from: number, count: number, charsMax?: number): readonly FrameRow[];
  /** What was acknowledged for a run according to the heads files, if there are any. */
  acknowledged?(run: RunId): AcknowledgedHeads;
  /** All heads files. */
  heads?(): readonly HeadsFile[];
  /** The runs of a query, or all. Newest first, in the order in which they were listed. */
  list(query?: RunQuery): readonly RunRow[];
  /** Every run that has frames, listed or not; with a prefix, at most `most` of those whose ids begin with it. */
  runs(some?: { readonly prefix: string; readonly most: number }): readonly RunId[];
  /** The last frame of a run, or of its first `frames` frames; undefined when missing. */
  tailAt(run: RunId, frames?: number): Tail | undefined;
  /** The records of the workspace log in order, starting at record `from`, and the stored end, both from one snapshot. */
  workspaceLog<T>(from: number, read: (rows: Iterable<FrameRow>, end: Tail | undefined) => T): T;
  blob(ref: string): Uint8Array | undefined;
  /** The signals that wait for one run or for all, in the order in which they came. */
  signals(run?: RunId): readonly SignalRow[];
  /** Undefined: nobody has written it. */
  shared(key: string): SharedRow | undefined;
  /** The record of the workspace log that says that a run was deleted, as stored; undefined if it was not. */
  deletion?(run: RunId): string | undefined;
  close(): void;
};
