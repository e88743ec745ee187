// Storage for frames, large values and files. Adapters: memory and SQLite; memory and jailed folders.
import type { CellId, CloisterError, Hash, JsonObject, RecordedBy, RunId } from '#base';
import type { WorkspaceEntry, WorkspaceRecord } from './conversation.ts';
import type { Spent } from './amounts.ts';
import type { Frame } from './frame.ts';
import type { Status } from './session.ts';
import type { RebuildOptions, RebuildReport, StoreLifeCycle } from './store-life-cycle.ts';

/** One run's log, owned by this process. */
export interface RunLog {
  /** Appends the next frame. Never waits, never throws. */
  append(frame: Frame): void;
  /**
   * Undefined if all appended frames are durable and the run is still owned here; otherwise a promise for that. Rejects with
   * `store_failed`, or with `run_lost` if somebody else owns the run now, and from then on always.
   */
  durable(): Promise<void> | undefined;
  /**
   * Undefined while nobody else can own the run; otherwise a promise for that, which rejects like `durable`. Asked again by whoever has
   * waited for something else since. Absent: a run is owned until it is lost.
   */
  stillOwned?(): Promise<void> | undefined;
  /**
   * Calls the listener with the number of the newest durable frame: now, if there is one, and after each commit that holds frames of
   * this run, before `durable` resolves. Absent: a frame is durable as soon as it is appended.
   */
  onCommit?(listener: (newest: number) => void): void;
  /** Calls the listener once frames could not be made durable, or the run was lost: no later one will be. Absent: that cannot happen. */
  onFailure?(listener: (error: CloisterError) => void): void;
  /** Makes everything durable and releases the run. */
  close(): Promise<void>;
}

/** Selects runs by id, or those that meet all of these conditions. */
export type RunQuery =
  | { readonly runs: readonly RunId[] }
  | {
      readonly caller?: string | undefined;
      /** None that began earlier, in epoch milliseconds. */
      readonly since?: number | undefined;
      /** Only runs whose ids begin with this. */
      readonly prefix?: string | undefined;
      /** Only runs that have not ended. */
      readonly open?: true | undefined;
      /** Only runs that began before this one; none if it is unknown. */
      readonly before?: RunId | undefined;
      /** At most the newest so many. */
      readonly most?: number | undefined;
    };

/** Some frames of a run in order, and descriptions of the damaged records among them. */
export type LogPage = { readonly frames: readonly Frame[]; readonly problems: readonly string[] };

export interface Store extends StoreLifeCycle {
  readonly kind: 'memory' | 'sqlite' | 'postgres';
  /** The folder; null if nothing is written to disk. */
  readonly path: string | null;
  /**
   * Takes ownership of a new or interrupted run. Rejects with `run_owned` and the name of the owner. `takeOver`: also takes it from
   * an owner on another machine, which cannot be checked; never from an owner that is known to be alive.
   */
  acquireRun(run: RunId, options?: { readonly takeOver?: boolean }): Promise<RunLog> | RunLog;
  /** The frames of a run in order. Rejects with `run_unknown`, `run_format`, or `store_damaged` for a changed record. */
  read(run: RunId): Promise<readonly Frame[]>;
  /** Like `read`, but lists damaged records instead of rejecting. */
  inspect(run: RunId): Promise<LogPage>;
  /** Like `inspect`, page by page, so that whoever reads a long log need not hold it in memory. */
  pages(run: RunId): AsyncIterable<LogPage>;
  /**
   * Newest first, in the order in which they began, whatever their clocks said; some runs or all. Includes runs that lost the end of
   * their log, as `damaged`. Of runs that the list has lost, it finds those that are asked for by id or prefix, and all of them where
   * the whole list is read anyway: without conditions, or if it fits within `most`.
   */
  list(which?: RunQuery): Promise<readonly RunSummary[]>;
  /** Derives again what is derived from the logs. Of one run that is named, rejects if its log is damaged or cannot be read. */
  rebuild(run?: RunId, options?: RebuildOptions): Promise<RebuildReport>;
  /** Stores bytes under their SHA-256 and returns it. Equal bytes are stored once. */
  putBlob(bytes: Uint8Array): Promise<string>;
  /** Rejects with `file_missing`. */
  getBlob(ref: string): Promise<Uint8Array>;
  /** The workspace log, in order. Rejects with `store_damaged` for a changed record. */
  readWorkspaceLog(): Promise<readonly WorkspaceEntry[]>;
  /** Appends a record durably and returns its number. Rejects with `book_moved` if another process has appended since record `after`. */
  appendRecord(record: WorkspaceRecord, after?: number): Promise<number>;
  /** The number of durable frames of a run and the hash after the last of them; with `frames`, for only that many. */
  hashPrefix(run: RunId, frames?: number): Promise<{ readonly frames: number; readonly hash: Hash }>;
  /**
   * Stores a signal; it is durable when this resolves. False: a signal of the run with this id waits already, and stays as it is. Rejects
   * with `name_invalid` or `options_invalid`, with `request_too_large` for a long body, and with `mailbox_full` if too many wait.
   */
  putSignal(signal: Signal): Promise<boolean>;
  /** The signals that wait, in the order in which they came: those of one run, or all. */
  signals(run?: RunId): Promise<readonly Signal[]>;
  /** The owner has carried it out, or refused it. Durable when it resolves; nothing happens if there is no such signal. */
  removeSignal(run: RunId, id: string): Promise<void>;
  /**
   * Calls the listener soon after signals may have come, also from other processes: never during a call, sometimes for nothing, and
   * not for those that wait already. Returns a function that stops it.
   */
  watchSignals(listener: () => void): () => void;
  /**
   * The frames of a run from number `from` on as they become durable, whichever process writes them: those that are there now, then new
   * ones, in batches, in order, each once. Goes on until it is returned. Rejects like `read`.
   */
  follow(run: RunId, from: number): AsyncIterable<readonly Frame[]>;
  /** Passes on what is said live between processes. Absent: only a run's own process hears it. */
  readonly live?: LiveChannel;
  /** A small value that all processes of the workspace share. Version 0 and null: nobody has written it. */
  readShared(key: string): Promise<SharedValue>;
  /**
   * Writes it if its version is still this one. False: somebody else has written since. Durable when it resolves. Rejects with
   * `options_invalid`, or with `request_too_large` for a long value.
   */
  writeShared(key: string, value: JsonObject | null, version: number): Promise<boolean>;
  /** Names this process among those of the store, so that others can ask whether it is still there. */
  readonly instance: string;
  /** Whether that process may still be there. One that cannot be checked is assumed alive. */
  isLive(instance: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Each version is written once, and is one more than the version before. */
export type SharedValue = { readonly value: JsonObject | null; readonly version: number };

/** What processes of one workspace share besides its runs. */
export type SharedState = Pick<Store, 'readShared' | 'writeShared' | 'instance' | 'isLive'>;

/** What is said live in runs, for those who follow them in other processes. */
export type LiveChannel = {
  /** Whether anybody in another process follows the run now. */
  isFollowed(run: RunId): boolean;
  /** At best effort: never waits, never throws, may be lost. In order for one run. */
  publish(run: RunId, piece: JsonObject): void;
  /** Until the returned function is called. */
  subscribe(run: RunId, listener: (piece: JsonObject) => void): () => void;
};

/**
 * What somebody asks of a run that another process may own: only the owner writes to a run's log, so others leave it here. It is
 * kept until the owner has carried it out.
 */
export type Signal = {
  readonly run: RunId;
  /** Chosen by the sender. While a signal waits, further ones of the run with its id are ignored. */
  readonly id: string;
  /** Who sent it, as it knows itself. */
  readonly by: string;
  /** When it was sent, in epoch milliseconds. */
  readonly at: number;
  readonly body: JsonObject;
};

/** One run in a list. */
export type RunSummary = {
  /** Its id. */
  readonly run: RunId;
  /** The agent of its root cell. */
  readonly agent: string;
  /** What was asked, as text. */
  readonly goal: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; null until it has ended. */
  readonly endedAt: number | null;
  /**
   * `running`: its owner is alive or cannot be checked. `interrupted`: its owner is gone, and the run has not ended. `waiting`: in a list
   * that looks for them, it waits for people or for its client and nothing in it works, whether anybody owns it or not. `damaged`: its
   * log is incomplete or missing; fields that can no longer be known are empty or 0.
   */
  readonly state: 'running' | 'waiting' | 'interrupted' | 'ended' | 'damaged';
  /** How it ended; null until then. */
  readonly status: Status | null;
  /** How many cells it has. */
  readonly cells: number;
  /** The caller that requested it on a server; otherwise null. */
  readonly caller: string | null;
  /** Null until it has ended. */
  readonly spent: Spent | null;
  /** A description of its owner while it runs. */
  readonly owner: string | null;
  /** Its owner is on another machine, so it is unknown whether it is alive. */
  readonly elsewhere?: true;
  /** The format of its records and the build that started it; null if that is not known. */
  readonly recordedBy: RecordedBy | null;
  /** Set if this build cannot read its log: why, and which build can. Other runs of the workspace are not affected. */
  readonly unreadable?: string;
};

/** The formats of a workspace before and after. */
export type MigrationReport = {
  readonly from: number;
  readonly to: number;
  /** The build that had written to it last. */
  readonly writtenBy: string | null;
  /** The name of the former database, in the same folder; null if nothing had to be done. */
  readonly copy: string | null;
};

/** One cell's own files. Paths are relative to the cell's `outputs/`; any other path is `file_refused`. */
export interface CellFolder {
  /** Creates or replaces a whole file. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Rejects with `file_missing` if there is no such file. */
  read(path: string, from?: number, length?: number): Promise<{ readonly bytes: Uint8Array; readonly size: number }>;
  /** Every file with its size, sorted by path. */
  list(): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
}

export interface CellFolders {
  /** Opens no file yet; the folder is created on first use. */
  open(run: RunId, cell: CellId): CellFolder;
}
