// What a Cloister offers for conversations and checkpoints.
import type { Checkpoint, CheckpointDiff, Conversation, ConversationRef, ConversationSummary } from './conversation.ts';
import type { RunSession } from './run-session.ts';

export interface Conversations {
  /** Newest first; of one agent, or of all. Deleted ones are told apart by `deletedAt`. */
  list(options?: { readonly agent?: string; readonly deleted?: boolean }): Promise<readonly ConversationSummary[]>;
  show(conversation: ConversationRef): Promise<Conversation>;
  /** Writes it to its file under `conversations/`; gives the path, or null in memory-only mode. */
  export(conversation: ConversationRef): Promise<string | null>;
  /** Lets another agent take turns in it. */
  attach(conversation: ConversationRef, agent: string): Promise<void>;
  detach(conversation: ConversationRef, agent: string): Promise<void>;
  /** Rejects with `conversation_shared`, naming the others that refer to it, unless forced. */
  delete(conversation: ConversationRef, options?: { readonly force?: boolean }): Promise<void>;
  /** Takes a deletion back. */
  restore(conversation: ConversationRef): Promise<void>;
  /** After this a deleted conversation is gone, with its file. */
  purge(conversation: ConversationRef): Promise<void>;
}

export interface Checkpoints {
  /** Newest first, of one agent or of all. */
  list(options?: { readonly agent?: string }): Promise<readonly Checkpoint[]>;
  /** Of a run as it stands, whoever runs it. */
  create(run: string, options?: { readonly label?: string }): Promise<Checkpoint>;
  /** Sets its conversation back to it. A run that had not ended there goes on from there, as a new run; else null. */
  restore(id: string): Promise<RunSession | null>;
  /** A new run or conversation that goes on from it; the one it was taken from stays as it is. */
  branch(
    id: string,
    options?: { readonly name?: string; readonly agent?: string },
  ): Promise<{ readonly conversation: ConversationRef | null; readonly session: RunSession | null }>;
  diff(one: string, other: string): Promise<CheckpointDiff>;
  /** Forgets what is past its time; gives the ids. */
  thinOut(): Promise<readonly string[]>;
}
