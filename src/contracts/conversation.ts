// Conversations, which keep messages across sessions, and checkpoints, which are cuts through runs that you can return to.
import type { Hash, RunId } from '#base';
import type { StoredAttachment } from './attachment.ts';
import type { Category } from './segment.ts';
import type { ImportRecord, Tombstone } from './tombstone.ts';

/** A conversation belongs to one agent; its name is unique for that agent. */
export type ConversationRef = { readonly agent: string; readonly name: string };

/** One message of a conversation, with its envelope. */
export type Entry = {
  /** `<run>/<n>`; the entries of one run are numbered in order. */
  readonly id: string;
  /** The author: an agent's name, or `person`. */
  readonly agent_id: string;
  /** The recipient. */
  readonly recipient_id: string;
  /** `message`: to an agent. `result`: its answer. */
  readonly message_type: 'message' | 'result';
  /** What it counts as in a window. */
  readonly category: Extract<Category, 'CONTEXT' | 'DIALOG'>;
  /** The run that it belongs to. */
  readonly correlation: RunId;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly text: string;
  /** Files that came with it. */
  readonly attachments?: readonly StoredAttachment[];
};

/** The part of a conversation that a session receives: the content of a `history` crossing, as JSON. */
export type History = {
  readonly conversation: string;
  /** How many older entries were omitted. */
  readonly leftOut: number;
  readonly entries: readonly HistoryEntry[];
  /** How many entries, at the end, came with this turn; the others are older. */
  readonly given?: number;
};

/** `agent`: an agent's name; null: the user. */
export type HistoryEntry = {
  readonly agent: string | null;
  readonly category: Exclude<Category, 'SYSTEM'>;
  readonly text: string;
  /** For TOOLS: the call that the text is the result of. Only the agent that made the call gets such an entry. */
  readonly call?: EarlierCall;
  /** For DIALOG of the user: files that came with it. */
  readonly attachments?: readonly StoredAttachment[];
};

/** A tool call of an earlier turn. `input`: as the model wrote it, shortened if it was long. */
export type EarlierCall = { readonly name: string; readonly input: string; readonly failed?: true };

/**
 * The files that a turn takes over from its agent's turn before, in the same conversation: the content of a `file` crossing, as
 * JSON. The contents are in the store, under their hashes.
 */
export type InheritedFiles = {
  /** The turn that left them, and how many of its frames counted. */
  readonly run: RunId;
  readonly frames: number;
  /** Sorted by path. */
  readonly files: readonly InheritedFile[];
  /** Outputs that were too long to show, oldest first; `read_output` finds them by name. */
  readonly outputs: readonly InheritedOutput[];
};

export type InheritedFile = { readonly path: string; readonly bytes: number; readonly sha256: Hash };

/** `framed`: text that had crossed into the cell, so that it is shown as data. */
export type InheritedOutput = {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: Hash;
  readonly framed?: true;
};

/** One conversation in a list. */
export type ConversationSummary = ConversationRef & {
  /** Other agents that may read and write it. */
  readonly attached: readonly string[];
  /** How many runs it has. */
  readonly turns: number;
  /** Epoch milliseconds of its first turn. */
  readonly startedAt: number;
  /** Epoch milliseconds of its newest turn. */
  readonly newestAt: number;
  /** Its runs in progress. */
  readonly running: readonly RunId[];
  /** The checkpoint it was branched from, if any. */
  readonly branchedFrom: string | null;
  /** Set if it is deleted and can still be restored. */
  readonly deletedAt: number | null;
};

/** The turns of one conversation that count, oldest first. */
export type ConversationTurns = ConversationRef & { readonly turns: readonly ConversationTurn[] };

export type ConversationTurn = {
  readonly run: RunId;
  readonly agent: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The runs that were this turn at some time, oldest first, with the one that counts: all are kept. */
  readonly versions: readonly RunId[];
};

/** A conversation with its messages, oldest first. */
export type Conversation = ConversationSummary & { readonly entries: readonly Entry[] };

/** A consistent cut through one run: its first `frames` frames. Everything else follows from them. */
export type Checkpoint = {
  /** Of this record. */
  readonly format: 1;
  /** For `restore`, `branch` and `diff`. */
  readonly id: string;
  /** The agent of the run's root cell. */
  readonly agent: string;
  /** The run that is cut. */
  readonly run: RunId;
  /** The conversation that the run is a turn of; null: none. */
  readonly conversation: ConversationRef | null;
  /** How many frames of the run it keeps. */
  readonly frames: number;
  /** The hash of its last frame in the run's chain. */
  readonly hash: Hash;
  /** The newest turn of its conversation that had begun then. Absent: the newest turn recorded before this checkpoint. */
  readonly newest?: RunId;
  /** Other turns of its conversation in progress at that time, and how many frames each had. */
  readonly others?: readonly { readonly run: RunId; readonly frames: number }[];
  /** Set if the run belongs to a conversation and had ended by then: when, and which entries it added. */
  readonly ended?: RunEnd;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether somebody asked for it, or it was taken on a schedule. */
  readonly why: 'asked' | 'autosave';
  /** What the person called it; empty if nothing. */
  readonly label: string;
};

/** What a turn adds to its conversation when it ends: the number of entries, and how many of them are CONTEXT. */
export type RunEnd = { readonly at: number; readonly entries: number; readonly context: number };

/** How long checkpoints are kept. Checkpoints that a person requested are kept until the cap is reached. */
export type Retention = {
  /** Keep all checkpoints for this long. */
  readonly allMs: number;
  /** After that, keep one per interval of this length. */
  readonly thinMs: number;
  /** Keep at most this many per agent; on a server, per agent and caller. */
  readonly most: number;
};

/** What a checkpoint holds. */
export type CheckpointReport = {
  readonly checkpoint: Checkpoint;
  /** Whether the run had not ended there: then it continues when the checkpoint is restored, or branched for the same agent. */
  readonly continues: boolean;
  /** In order of creation. */
  readonly cells: readonly {
    readonly cell: string;
    readonly parent: string | null;
    readonly agent: string;
    readonly depth: number;
    /** `running` until the cell ends. */
    readonly status: string;
    readonly steps: number;
    /** The size of its newest prompt. */
    readonly windowBytes: number;
    /** Tokens used until then. */
    readonly tokens: number;
    /** Entries of its ledger until then. */
    readonly crossings: number;
  }[];
  /** Files that its cells have written, or that its first cell took over from an earlier turn. */
  readonly files: readonly {
    readonly cell: string;
    readonly path: string;
    readonly bytes: number;
    readonly sha256: Hash;
  }[];
};

/** What differs between two checkpoints. Pairs are the values at `one` and at `other`. */
export type CheckpointDiff = {
  readonly one: Checkpoint;
  readonly other: Checkpoint;
  /** Cells that exist at only one of them, and cells that have changed. */
  readonly cells: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly {
      readonly cell: string;
      readonly agent: string;
      readonly windowBytes: readonly [number, number];
      readonly steps: readonly [number, number];
      readonly status: readonly [string, string];
    }[];
  };
  /** Paths of written files. */
  readonly files: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  /** Tokens used until then. */
  readonly tokens: readonly [number, number];
  /** Crossings until then. */
  readonly crossings: readonly [number, number];
};

/** One record of the workspace log, for what does not belong to a single run. */
export type WorkspaceRecord =
  /** A run is a turn in a conversation. */
  | { readonly type: 'turn'; readonly conversation: ConversationRef; readonly agent: string; readonly run: RunId }
  | { readonly type: 'attach' | 'detach'; readonly conversation: ConversationRef; readonly agent: string }
  | { readonly type: 'delete' | 'undelete' | 'purge'; readonly conversation: ConversationRef }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }
  | { readonly type: 'forget'; readonly checkpoints: readonly string[] }
  /** Entries after the checkpoint no longer count; `run` continues the run that was cut. */
  | {
      readonly type: 'restore';
      readonly checkpoint: string;
      readonly conversation: ConversationRef | null;
      readonly run: RunId | null;
    }
  /**
   * A conversation that starts with the entries of another one; `entries` is where they are stored. `before`: how many of them are
   * from before its run began; the others are from the run itself. Absent: all are from before. `turns`: the newest turn of each
   * agent at the checkpoint; the agent's next turn takes over its files.
   */
  | {
      readonly type: 'branch';
      readonly checkpoint: string;
      readonly conversation: ConversationRef | null;
      readonly entries: string | null;
      readonly before?: number;
      readonly turns?: readonly TurnRef[];
      readonly run: RunId | null;
    }
  /** A run was deleted: its turns, and checkpoints of it, no longer count. */
  | { readonly type: 'tombstone'; readonly tombstone: Tombstone }
  /** A run came from an archive. If it had been deleted, it counts again. */
  | ({ readonly type: 'import' } & ImportRecord);

/** A turn of an agent, and how many of its frames count; null: all of them. */
export type TurnRef = { readonly agent: string; readonly run: RunId; readonly frames: number | null };

export type WorkspaceEntry = { readonly no: number; readonly at: number; readonly record: WorkspaceRecord };
