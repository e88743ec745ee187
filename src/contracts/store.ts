// Where frames, large values and files are kept. Adapters: memory, sqlite; memory and jailed folders.
import type { CellId, Hash, RunId } from '#base';
import type { WorkspaceEntry, WorkspaceRecord } from './conversation.ts';
import type { Spent } from './amounts.ts';
import type { Frame } from './frame.ts';
import type { Status } from './session.ts';

/** One run's log, owned by this process. */
export interface RunLog {
  /** Takes the next frame. Never waits, never throws. */
  append(frame: Frame): void;
  /** Undefined when all that was appended is durable; else a promise of it. Rejects with `store_failed`, from then on always. */
  durable(): Promise<void> | undefined;
  /** Makes everything durable and gives the run back. Step files follow shortly; closing the store waits for them. */
  close(): Promise<void>;
}

/** These, or those of one caller: of all of them the newest, or those that began since. */
export type RunQuery =
  | { readonly runs: readonly RunId[] }
  | { readonly caller: string; readonly most?: number | undefined; readonly since?: number | undefined };

export interface Store {
  readonly kind: 'memory' | 'sqlite';
  /** Where it lies; null when nothing touches the disk. */
  readonly path: string | null;
  /**
   * Takes ownership of a run, new or interrupted. Rejects with `run_owned`, naming who has it. `takeOver`: also from an owner on
   * another machine, who cannot be asked; never from one that is known to live.
   */
  acquireRun(run: RunId, options?: { readonly takeOver?: boolean }): Promise<RunLog> | RunLog;
  /** The frames of a run in order. Rejects with `run_unknown`; a record that is not what was written: `store_damaged`. */
  read(run: RunId): Promise<readonly Frame[]>;
  /** The same, but damaged records are named instead of thrown. */
  inspect(run: RunId): Promise<{ readonly frames: readonly Frame[]; readonly problems: readonly string[] }>;
  /**
   * Newest first; some of them, or all. What has lost its end is there too, as `damaged`; and, but for a caller's, what is known
   * only by notes of what was acknowledged.
   */
  list(which?: RunQuery): Promise<readonly RunSummary[]>;
  /** Makes what is derived from the log again, of one run or of all: the list of runs, step files, outputs. Gives the number of files. */
  rebuild(run?: RunId): Promise<number>;
  /** Keeps bytes under their SHA-256 and gives that back. Equal bytes are kept once. */
  putBlob(bytes: Uint8Array): Promise<string>;
  /** Rejects with `file_missing`. */
  getBlob(ref: string): Promise<Uint8Array>;
  /** The workspace's own log, in order. A page that is not what was written: `store_damaged`. */
  readWorkspaceLog(): Promise<readonly WorkspaceEntry[]>;
  /** Adds a page to it, durably, and gives its number. If others wrote since page `after`, it rejects with `book_moved`. */
  appendRecord(record: WorkspaceRecord, after?: number): Promise<number>;
  /** How many frames of a run are durable, and what the last of them hashes to; or of its first so many. */
  hashPrefix(run: RunId, frames?: number): Promise<{ readonly frames: number; readonly hash: Hash }>;
  close(): Promise<void>;
}

export type RunSummary = {
  readonly run: RunId;
  readonly agent: string;
  readonly goal: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /**
   * `running`: its owner lives, or cannot be asked. `interrupted`: it does not, and the run has no end. `damaged`: its log has
   * lost something, or all; what cannot be known of it any more is empty or 0.
   */
  readonly state: 'running' | 'interrupted' | 'ended' | 'damaged';
  readonly status: Status | null;
  readonly cells: number;
  /** Who asked for it, where others are served; else null. */
  readonly caller: string | null;
  /** Null until it has ended. */
  readonly spent: Spent | null;
  /** Who owns it, in words, while it runs. */
  readonly owner: string | null;
  /** Its owner is on another machine: nobody here can tell whether it lives. */
  readonly elsewhere?: true;
};

/** One cell's own files. Paths are relative to the cell's `outputs/`; anything else is `file_refused`. */
export interface CellFolder {
  /** Creates or replaces a whole file. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** `file_missing` when there is none. */
  read(path: string, from?: number, length?: number): Promise<{ readonly bytes: Uint8Array; readonly size: number }>;
  /** Every file with its size, sorted by path. */
  list(): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
}

export interface CellFolders {
  /** Opens no file yet; the folder is made when first needed. */
  open(run: RunId, cell: CellId): CellFolder;
}
