// Messages between the store's two threads: plain data only.
import type { ErrorCode, RunId } from '#base';
import type { Signal } from '#contracts';

/** A signal as stored: its body is JSON. */
export type SignalRow = Omit<Signal, 'body'> & { readonly body: string };

export type Item =
  | { readonly do: 'own'; readonly run: RunId; readonly takeOver?: boolean }
  | { readonly do: 'frame'; readonly run: RunId; readonly no: number; readonly body: string }
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
  | { readonly do: 'remove-signal'; readonly run: RunId; readonly id: string };

export type ToWorker = { readonly type: 'batch'; readonly items: readonly Item[] } | { readonly type: 'close' };

/** The acknowledgement of one batch. Everything was written, except what is listed here. */
export type Ack = {
  /** Set when nothing in the batch was written. */
  readonly failure: { readonly code: ErrorCode; readonly detail: string } | null;
  /** Runs that are owned by a live process. */
  readonly refused: readonly { readonly run: RunId; readonly owner: string }[];
  /** Runs whose frames do not continue the stored log. */
  readonly broken: readonly { readonly run: RunId; readonly detail: string }[];
  /** The result of each workspace record in the batch; absent when it had none. */
  readonly records?: readonly WorkspaceRecordAck[];
  /** What became of each signal in the batch; absent when it had none. */
  readonly signals?: readonly SignalAck[];
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

/** Faults to inject, for tests. */
export type InjectedFaults = {
  /** The database cannot grow past this many pages, as on a full disk. */
  readonly pagesMax?: number;
  /** These transactions, counted from 1, fail just before they commit. */
  readonly failTransactions?: readonly number[];
  /** The thread dies just before this transaction commits. */
  readonly dieAt?: number;
};

export type WorkerSetup = {
  readonly folder: string;
  /** Distinguishes this store from others in the same process. */
  readonly instance: string;
  readonly busyTimeoutMs: number;
  readonly build: string;
  readonly faults: InjectedFaults;
};
