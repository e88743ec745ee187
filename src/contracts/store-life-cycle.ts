// What a store does with whole runs: deletes them, takes them in, and says how large they are.
import type { JsonObject, RunId } from '#base';
import type { ImportRecord, Tombstone } from './tombstone.ts';

/** A run to delete, with what is left of it. */
export type RunDeletion = {
  readonly tombstone: Tombstone;
  /** What must be removed outside the store, kept until `finishDeletions` is called for the run. */
  readonly cleanup: JsonObject;
  /** Blobs that go as well unless a run refers to them. Those that the run itself refers to need not be named. */
  readonly blobs?: readonly string[];
};

/** A deletion that is decided, but of which files may be left. */
type PendingDeletion = { readonly run: RunId; readonly cleanup: JsonObject };

/**
 * What a store has given back: the bytes that its database had, with its write-ahead log, and has now, and how many blobs are gone.
 * `isFinished`: whether nothing is left in these files; otherwise another process was reading, and it is tried again later.
 */
export type SpaceReport = {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly blobs: number;
  readonly isFinished: boolean;
};

/**
 * Something in a store that belongs to no run: the owner or the signals of a run without records, or a blob that no record names, by its
 * hash. A process that dies may leave some.
 */
export type Leftover = { readonly kind: 'owner' | 'signals' | 'blob'; readonly name: string };

export interface StoreLifeCycle {
  /**
   * Deletes runs and appends their tombstones to the workspace log, all in one commit. Rejects with `run_owned`, with `book_moved` if
   * another process has appended since record `after`, and with `run_kept` if a log is not the one that its tombstone names.
   */
  deleteRuns(deletions: readonly RunDeletion[], after?: number): Promise<void>;
  /** Deletions that were decided and not finished, perhaps by a process that died. */
  pendingDeletions(): Promise<readonly PendingDeletion[]>;
  /**
   * Removes the folders of deleted runs and blobs that nothing refers to any more, and gives their space back. May be repeated.
   * `compact`: rewrites the whole database, so that it gives back all of its free space.
   */
  finishDeletions(runs: readonly RunId[], options?: { readonly compact?: boolean }): Promise<SpaceReport>;
  /** What is left of a run that was deleted, if it was not imported since. */
  tombstone(run: RunId): Promise<Tombstone | null>;
  /** Each record of a run as its log holds it. Rejects like `read`. */
  readBodies(run: RunId): Promise<readonly string[]>;
  /**
   * Takes in a run with the records of another log, and notes that in the workspace log. Rejects with `run_exists`, and with
   * `archive_invalid` if the records are not those of the run.
   */
  importRun(bodies: readonly string[], record: ImportRecord): Promise<void>;
  /** The bytes of each run's records. */
  runBytes(): Promise<ReadonlyMap<RunId, number>>;
  /** The records of all runs that say that a run is a fork, as the logs hold them. */
  forkRecords(): Promise<readonly string[]>;
  /** The names of folders below `runs/` that belong to no run of the store. */
  strayFolders(): Promise<readonly string[]>;
  leftovers(): Promise<readonly Leftover[]>;
}

/** `files`: also make the files of each run. Default: of a run that is named. */
export type RebuildOptions = { readonly files?: boolean };

/** What was derived again from the logs of runs. */
export type RebuildReport = {
  /** How many logs were read. */
  readonly runs: number;
  /** The runs whose entry in the list of runs was missing or wrong. */
  readonly listed: readonly RunId[];
  /** How many files were missing or had another content. */
  readonly files: number;
  /** Of these runs nothing was changed, because their logs are damaged or have a format that this build cannot read. */
  readonly skipped: readonly { readonly run: RunId; readonly problem: string }[];
};
