// Messages between the store's two threads: plain data only.
import type { ErrorCode, RunId } from '#base';
import type { Signal } from '#contracts';

/** A signal as stored: its body is JSON. */
export type SignalRow = Omit<Signal, 'body'> & { readonly body: string };

/** A shared value as stored: JSON, or null. */
export type SharedRow = { readonly value: string | null; readonly version: number };

export type Item =
  | { readonly do: 'own'; readonly run: RunId; readonly takeOver?: boolean }
  /** `epoch`: that of the owner who appends it. */
  | {
      readonly do: 'frame';
      readonly run: RunId;
      readonly no: number;
      readonly body: string;
      readonly epoch: number;
    }
  /** Asks whether the run still has this epoch; nothing is written. If not, the run is `broken`. */
  | { readonly do: 'confirm'; readonly run: RunId; readonly epoch: number }
  | { readonly do: 'blob'; readonly ref: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly do: 'release'; readonly run: RunId }
  /** `record` is JSON. `after` is the newest record that its writer has seen. `key` identifies it within the batch. */
  | {
      readonly do: 'record';
      readonly key: number;
      readonly at: number;
      readonly record: string;
      readonly after?: number;
    }
  | { readonly do: 'signal'; readonly key: number; readonly signal: SignalRow }
  | { readonly do: 'remove-signal'; readonly run: RunId; readonly id: string }
  /** `row`: the new value, whose version is one more than the one it replaces. */
  | { readonly do: 'share'; readonly key: number; readonly name: string; readonly row: SharedRow }
  | DeleteItem
  | ImportItem;

/** `record` and `pending` are JSON. */
export type DeleteItem = {
  readonly do: 'delete';
  readonly key: number;
  readonly at: number;
  readonly after?: number;
  readonly runs: readonly {
    readonly run: RunId;
    readonly frames: number;
    readonly head: string | null;
    readonly record: string;
    readonly pending: string;
    readonly blobs: readonly string[];
  }[];
};

/** `record` is JSON. */
export type ImportItem = {
  readonly do: 'import';
  readonly key: number;
  readonly at: number;
  readonly run: RunId;
  readonly bodies: readonly string[];
  readonly record: string;
};

/** `run`: the one that cannot be deleted. */
export type ChangeAck = { readonly key: number } & (
  | { readonly refused: null }
  | { readonly refused: 'moved' | 'lost' }
  | { readonly refused: 'changed' | 'exists'; readonly run: RunId }
  | { readonly refused: 'owned'; readonly run: RunId; readonly owner: string }
);

export type ToWorker = { readonly type: 'batch'; readonly items: readonly Item[] } | { readonly type: 'close' };

/** The acknowledgement of one batch. Everything was written, except what is listed here. */
export type Ack = {
  /** Set when nothing in the batch was written. */
  readonly failure: { readonly code: ErrorCode; readonly detail: string } | null;
  /** Runs that are owned by a live process, or that were deleted. */
  readonly refused: readonly { readonly run: RunId; readonly owner: string; readonly isDeleted?: true }[];
  /** The runs that were acquired, each with its new epoch; absent when there was none. */
  readonly owned?: readonly { readonly run: RunId; readonly epoch: number }[];
  /** Runs whose frames were not written: they do not continue the stored log, or somebody else owns the run now (`isLost`). */
  readonly broken: readonly { readonly run: RunId; readonly detail: string; readonly isLost?: true }[];
  /** The result of each workspace record in the batch; absent when it had none. */
  readonly records?: readonly WorkspaceRecordAck[];
  /** What became of each signal in the batch; absent when it had none. */
  readonly signals?: readonly SignalAck[];
  /** Whether each shared value in the batch was written; absent when it had none. */
  readonly shared?: readonly SharedAck[];
  /** What became of each deletion and import in the batch; absent when it had none. */
  readonly changes?: readonly ChangeAck[];
  /** How many transactions this worker has tried. */
  readonly transactions: number;
};

/** The number of the new record, or why it was refused: `moved` when others have written since, `lost` when the log has lost its end. */
export type WorkspaceRecordAck = { readonly key: number } & (
  | { readonly no: number }
  | { readonly refused: 'moved' | 'lost' }
);

/** `known`: a signal of the run with this id waits already. `full`: too many signals of the run wait. */
export type SignalAck = { readonly key: number; readonly decision: 'stored' | 'known' | 'full' };

/** False: it has another version meanwhile. */
export type SharedAck = { readonly key: number; readonly isWritten: boolean };

/** Faults to inject, for tests. */
export type InjectedFaults = {
  /** The database cannot grow past this many pages, as on a full disk. */
  readonly pagesMax?: number;
  /** These transactions, counted from 1, fail just before they commit. */
  readonly failTransactions?: readonly number[];
  /** The thread dies just before this transaction commits. */
  readonly dieAt?: number;
};

/** Work on whole runs that may take long. */
export type LifeCycleTask =
  | { readonly do: 'finish'; readonly runs: readonly RunId[]; readonly compact: boolean }
  | { readonly do: 'forks' }
  | { readonly do: 'leftovers' }
  | { readonly do: 'bytes' };

export type WorkerSetup = {
  readonly folder: string;
  /** Distinguishes this store from others in the same process. */
  readonly instance: string;
  readonly busyTimeoutMs: number;
  readonly build: string;
  readonly faults: InjectedFaults;
  /** Set for a thread that only does this, and ends. */
  readonly task?: LifeCycleTask;
};

/** How a task has ended. */
export type TaskEnd = {
  readonly value?: unknown;
  readonly failure?: { readonly code: ErrorCode; readonly detail: string };
};
