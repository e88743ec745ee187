// The conversations and checkpoints of a Cloister.
import type { Checkpoint, CheckpointDiff, Conversation, ConversationRef, ConversationSummary } from './conversation.ts';
import type { RunSession } from './run-session.ts';

/** The conversations of all agents. `runTurn` adds to them. */
export interface Conversations {
  /** Newest first, for one agent or all. Deleted conversations have `deletedAt`. */
  list(options?: { readonly agent?: string; readonly deleted?: boolean }): Promise<readonly ConversationSummary[]>;
  /** One conversation with its messages. Rejects with `conversation_unknown`. */
  show(conversation: ConversationRef): Promise<Conversation>;
  /** Writes it to its file under `conversations/`. Returns the path, or null in memory-only mode. */
  export(conversation: ConversationRef): Promise<string | null>;
  /** Allows another agent to take turns in it. */
  attach(conversation: ConversationRef, agent: string): Promise<void>;
  /** Takes that permission back. */
  detach(conversation: ConversationRef, agent: string): Promise<void>;
  /** Rejects with `conversation_shared` and who else uses the conversation, unless forced. */
  delete(conversation: ConversationRef, options?: { readonly force?: boolean }): Promise<void>;
  /** Undoes a deletion. */
  restore(conversation: ConversationRef): Promise<void>;
  /** Removes a deleted conversation for good, with its file. */
  purge(conversation: ConversationRef): Promise<void>;
}

/** The checkpoints of all runs: take one, go back to it, or continue from it elsewhere. */
export interface Checkpoints {
  /** Newest first, for one agent or all. */
  list(options?: { readonly agent?: string }): Promise<readonly Checkpoint[]>;
  /** Takes a checkpoint of a run as it is now, even if another process runs it. */
  create(run: string, options?: { readonly label?: string }): Promise<Checkpoint>;
  /**
   * Resets its conversation to the checkpoint. If the run had not ended there, it continues as a new run; otherwise returns null.
   * `env`: as for `resume`.
   */
  restore(id: string, options?: { readonly env?: Readonly<Record<string, string>> }): Promise<RunSession | null>;
  /** A new run or conversation that continues from the checkpoint. The original stays unchanged. */
  branch(
    id: string,
    options?: { readonly name?: string; readonly agent?: string; readonly env?: Readonly<Record<string, string>> },
  ): Promise<{ readonly conversation: ConversationRef | null; readonly session: RunSession | null }>;
  /** What changed between two checkpoints. */
  diff(one: string, other: string): Promise<CheckpointDiff>;
  /** Deletes the checkpoints that the retention rules no longer keep. Returns their ids. */
  applyRetention(): Promise<readonly string[]>;
}
