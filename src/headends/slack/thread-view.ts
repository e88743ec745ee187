// What a thread is to show of one turn, whole: `ThreadWriter` makes it so.
import type { JsonObject } from '#base';

/** One cell at work. */
export type TaskCard = {
  readonly id: string;
  readonly title: string;
  readonly status: 'pending' | 'in_progress' | 'complete' | 'error';
  /** What it does now; clamps and trims of its window. */
  readonly details: string;
  /** How it ended: status, time, cost. Empty until then. */
  readonly output: string;
};

export type ThreadView = {
  /** Markdown of the agent that was asked: all of it so far. */
  readonly text: string;
  /** In the order in which they appeared. */
  readonly cards: readonly TaskCard[];
  /** It waits for people, and nothing works meanwhile. */
  readonly isWaiting?: boolean;
};

/** Where a turn is answered. */
export type ThreadPlace = {
  readonly team: string;
  readonly channel: string;
  /** The `ts` of the first message of the thread. */
  readonly thread: string;
  /** The message that is answered. */
  readonly message: string;
  /** The person who wrote it. */
  readonly user: string;
};

export type SessionStatus = 'active' | 'processing' | 'suspended' | 'closed';

/** How the last message of a turn ends. */
export type ThreadEnd = { readonly blocks: readonly JsonObject[]; readonly status: SessionStatus };
