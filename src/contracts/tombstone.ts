// What is left of a run that was deleted.
import type { Hash, RunId } from '#base';

/**
 * What a deleted run leaves, as a record of the workspace log: nothing of what was asked, shown, said or answered. `key` and
 * `signature` are null if the operator had no key; the record is then protected by the chain of the workspace log alone.
 */
export type Tombstone = {
  /** Of this record. */
  readonly format: 1;
  readonly run: RunId;
  /** Epoch milliseconds; null if its log no longer said it. */
  readonly startedAt: number | null;
  /** Epoch milliseconds; null: it had not ended. */
  readonly endedAt: number | null;
  /** How many frames its log had. */
  readonly frames: number;
  /** The hash of its last frame, which chains over all others; null if it had none. */
  readonly head: Hash | null;
  /** Epoch milliseconds. */
  readonly deletedAt: number;
  /** Who deleted it: `operator`, `retention`, or the name of a caller of a server. */
  readonly by: string;
  /** Why, as whoever deleted it said; empty if nothing. */
  readonly why: string;
  /** Set if its log was moved into a file. */
  readonly archive?: ArchiveRef;
  /** The operator's public key, and its signature over everything else in this record. */
  readonly key: string | null;
  readonly signature: string | null;
};

/** The archive of a run: the name of its file in the folder of archives, and the hash of the file's bytes. */
export type ArchiveRef = { readonly file: string; readonly sha256: Hash };

/** A run that came from an archive: how many frames it has, and the hash of the last one. */
export type ImportRecord = { readonly run: RunId; readonly frames: number; readonly head: Hash; readonly by: string };
