// What a headend has accepted from clients that do not wait for the answer, such as messages of a chat.
//
//   inbox-durable. An item is on disk before its client is told that it was accepted.
//   inbox-one-worker. A queue is worked on by one process at a time. Its items stay until that process removes them, so whoever opens
//       the queue after a crash finds them.
import type { JsonObject } from '#base';

export type InboxItem = {
  /** Chosen by the headend: while an item waits, another one of the same queue with this id is ignored. */
  readonly id: string;
  /** Whose it is. */
  readonly by: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly body: JsonObject;
};

/** The queues of one headend. Names of queues are at most 40 letters, digits and dashes. */
export interface Inbox {
  /** Durable when it resolves. False: the item waits already. Rejects with `mailbox_full` if too many wait in the queue. */
  put(queue: string, item: InboxItem): Promise<boolean>;
  /** The queues that have items. */
  queues(): Promise<readonly string[]>;
  /** Takes a queue for this process. Undefined: another process, or another part of this one, works on it. */
  open(queue: string): Promise<OpenQueue | undefined>;
  /**
   * Calls the listener soon after items may have come, also from other processes, and soon after a queue that `open` refused may be free;
   * sometimes for nothing. Returns a function that stops it.
   */
  watch(listener: () => void): () => void;
}

export interface OpenQueue {
  /** In the order in which they came. */
  items(): Promise<readonly InboxItem[]>;
  /** Durable when it resolves. */
  remove(id: string): Promise<void>;
  /** Lets another worker have it. */
  close(): Promise<void>;
}
