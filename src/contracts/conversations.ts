// The conversations and checkpoints of a Cloister.
import type { Budget } from './amounts.ts';
import type {
  Checkpoint,
  CheckpointDiff,
  CheckpointReport,
  Conversation,
  ConversationRef,
  ConversationSummary,
  ConversationTurns,
} from './conversation.ts';
import type { RunSession } from './run-session.ts';

/** The conversations of all agents. `runTurn` adds to them. */
export interface Conversations {
  /** Newest first, for one agent or all. Deleted conversations have `deletedAt`. */
  list(options?: { readonly agent?: string; readonly deleted?: boolean }): Promise<readonly ConversationSummary[]>;
  /** The turns of all conversations that are not deleted. */
  turns(): Promise<readonly ConversationTurns[]>;
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

/** Who a run that continues from a checkpoint is for. */
type ContinuationOptions = {
  /** As for `resume`. */
  readonly env?: Readonly<Record<string, string>>;
  /** The caller on a server: recorded with the run, which belongs to it. Without one, it is the operator's. */
  readonly caller?: string;
  /** Rejects with `checkpoint_invalid` if the run, which keeps its budget, may spend more than this. */
  readonly budgetMax?: Budget;
};

/** The checkpoints of all runs: take one, go back to it, or continue from it elsewhere. */
export interface Checkpoints {
  /** Newest first, for one agent or all. `caller`: only of runs that belong to this caller on a server. */
  list(options?: { readonly agent?: string; readonly caller?: string }): Promise<readonly Checkpoint[]>;
  /** What it holds. Rejects with `checkpoint_unknown`, or `checkpoint_invalid`. */
  show(id: string): Promise<CheckpointReport>;
  /**
   * Takes a checkpoint of a run as it is now, even if another process runs it. `atStart`: as it was before its first operation, so that
   * restoring it tries the whole run again.
   */
  create(run: string, options?: { readonly label?: string; readonly atStart?: boolean }): Promise<Checkpoint>;
  /** Resets its conversation to the checkpoint. If the run had not ended there, it continues as a new run; otherwise returns null. */
  restore(id: string, options?: ContinuationOptions): Promise<RunSession | null>;
  /**
   * A new run or conversation that continues from the checkpoint. The original stays unchanged. With a caller, a conversation
   * without a name gets one that begins with the caller's name and a slash.
   */
  branch(
    id: string,
    options?: ContinuationOptions & { readonly name?: string; readonly agent?: string },
  ): Promise<{ readonly conversation: ConversationRef | null; readonly session: RunSession | null }>;
  /** What changed between two checkpoints. */
  diff(one: string, other: string): Promise<CheckpointDiff>;
  /** Deletes the checkpoints that the retention rules no longer keep. Returns their ids. */
  applyRetention(): Promise<readonly string[]>;
}
