// What a log reader asks of a disk.
import type { RunId } from '#base';
import type { RunQuery } from '#contracts';
import type { FrameRow, Tail } from './chain.ts';
import type { HeadsFile, AcknowledgedHeads } from './heads-folder.ts';
import type { RunOwner } from './owner.ts';
import type { RunFacts } from './run-facts.ts';

/** One entry in the list of runs, and who has the run. */
export type RunRow = RunFacts & {
  readonly run: RunId;
  readonly owner: RunOwner | null;
  /** Where a log is that can lose something. */
  readonly ends?: RunTails;
};

/** The last frame of a run, and the end that its entry in the list records: both of one moment. */
export type RunTails = { readonly last: Tail | undefined; readonly listed: Tail | undefined };

/** What is committed, as it is there; nothing about it is taken for granted. */
export type LogRows = {
  /** Throws `store_damaged` when something is there that is not ours. */
  check(): void;
  /** The frames of a run in order of number, and the end that its entry in the list records: both of one moment. */
  log<T>(run: RunId, read: (rows: Iterable<FrameRow>, end: Tail | undefined) => T): T;
  /** For logs that are read in pieces. */
  ends?(run: RunId): RunTails;
  /** Frames of a run in order of number, from this one on, so many. */
  piece?(run: RunId, from: number, count: number): readonly FrameRow[];
  /** What was acknowledged of a run, as it is noted elsewhere, if it is. */
  noted?(run: RunId): AcknowledgedHeads;
  /** All that is noted so. */
  heads?(): readonly HeadsFile[];
  /** Some, or all. Newest first; of those that started together, the one that was listed last. */
  list(which?: RunQuery): readonly RunRow[];
  /** Every run that has frames, listed or not. */
  runs(): readonly RunId[];
  /** The last frame of a run, or the last of its first so many; undefined when it is not there. */
  cut(run: RunId, frames?: number): Tail | undefined;
  /** The pages of the book in order of number, from this one on, and the end that is recorded: both of one moment. */
  book<T>(from: number, read: (rows: Iterable<FrameRow>, end: Tail | undefined) => T): T;
  blob(ref: string): Uint8Array | undefined;
  close(): void;
};
