// What the store's two threads say to each other: plain data only.
import type { ErrorCode, RunId } from '#base';

export type Item =
  | { readonly do: 'own'; readonly run: RunId; readonly takeOver?: boolean }
  | { readonly do: 'frame'; readonly run: RunId; readonly no: number; readonly body: string }
  | { readonly do: 'blob'; readonly ref: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly do: 'release'; readonly run: RunId }
  /** `record` as JSON. `after`: the newest page that its writer has seen. `key` tells it from others of the batch. */
  | {
      readonly do: 'page';
      readonly key: number;
      readonly at: number;
      readonly record: string;
      readonly after?: number;
    };

export type ToWorker = { readonly type: 'batch'; readonly items: readonly Item[] } | { readonly type: 'close' };

/** The answer to one batch. All of it was written, but for what is named here. */
export type Ack = {
  /** Set when nothing of the batch was written. */
  readonly failure: { readonly code: ErrorCode; readonly detail: string } | null;
  /** Runs that a living process owns. */
  readonly refused: readonly { readonly run: RunId; readonly owner: string }[];
  /** Runs whose frames do not continue what is there. */
  readonly broken: readonly { readonly run: RunId; readonly detail: string }[];
  /** What became of each page of the batch; absent when it had none. */
  readonly pages?: readonly WorkspaceRecordAck[];
  /** How many transactions this worker has tried. */
  readonly transactions: number;
};

/** The number that a page got, or why it got none: the book has moved on, or has lost its end. */
export type WorkspaceRecordAck = { readonly key: number } & (
  | { readonly no: number }
  | { readonly refused: 'moved' | 'lost' }
);

/** Ways to make the world fail, for tests. */
export type InjectedFaults = {
  /** The database may not grow past this, like a full disk. */
  readonly pagesMax?: number;
  /** These transactions, counted from 1, fail just before they commit. */
  readonly failTransactions?: readonly number[];
  /** The thread dies when this transaction begins. */
  readonly dieAt?: number;
};

export type WorkerSetup = {
  readonly folder: string;
  /** Tells this store from another one in the same process. */
  readonly instance: string;
  readonly busyTimeoutMs: number;
  readonly faults: InjectedFaults;
};
