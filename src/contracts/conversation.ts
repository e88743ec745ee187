// Messages kept across sessions, and cuts through runs that one can go back to.
import type { Hash, RunId } from '#base';
import type { Category } from './segment.ts';

/** A conversation belongs to one agent, and has a name among that agent's. */
export type ConversationRef = { readonly agent: string; readonly name: string };

/** One message of a conversation, with its envelope. */
export type Entry = {
  /** `<run>/<n>`; the entries of one run are numbered in order. */
  readonly id: string;
  /** Who said it: an agent's name, or `person`. */
  readonly agent_id: string;
  /** To whom. */
  readonly recipient_id: string;
  readonly message_type: 'message' | 'result';
  readonly category: Extract<Category, 'CONTEXT' | 'DIALOG'>;
  readonly correlation: RunId;
  readonly at: number;
  readonly text: string;
};

/** What a session is told of its conversation: the content of a `history` crossing, as JSON. */
export type History = {
  readonly conversation: string;
  /** How many older entries were left out. */
  readonly leftOut: number;
  readonly entries: readonly HistoryEntry[];
  /** How many of them, at the end, came with this very turn; the others were said before. */
  readonly given?: number;
};

/** `agent`: an agent's name, or null for the person it works for. */
export type HistoryEntry = {
  readonly agent: string | null;
  readonly category: Entry['category'];
  readonly text: string;
};

export type ConversationSummary = ConversationRef & {
  /** Other agents that may read and write it. */
  readonly attached: readonly string[];
  readonly turns: number;
  readonly startedAt: number;
  readonly newestAt: number;
  /** The runs of it that are under way. */
  readonly running: readonly RunId[];
  /** The checkpoint that it goes on from, if it was branched. */
  readonly branchedFrom: string | null;
  /** Set while it is deleted and can be restored. */
  readonly deletedAt: number | null;
};

export type Conversation = ConversationSummary & { readonly entries: readonly Entry[] };

/** A consistent cut through one run: so many frames from its beginning. All else follows from them. */
export type Checkpoint = {
  readonly format: 1;
  readonly id: string;
  /** The agent of the run's root cell. */
  readonly agent: string;
  readonly run: RunId;
  readonly conversation: ConversationRef | null;
  readonly frames: number;
  /** What the record of its last frame hashes to, in the chain of its run. */
  readonly hash: Hash;
  /** The newest turn of its conversation that had begun then; without it, the newest of all that have a page before this one. */
  readonly newest?: RunId;
  /** Other turns of its conversation that were under way then, and how many frames of each there were. */
  readonly others?: readonly { readonly run: RunId; readonly frames: number }[];
  /** Set when the run, one of a conversation, had ended there: when that was, and what of it counts as said. */
  readonly ended?: RunEnd;
  readonly at: number;
  readonly why: 'asked' | 'autosave';
  readonly label: string;
};

/** What the end of a turn adds to its conversation: so many entries, and so many of them as CONTEXT. */
export type RunEnd = { readonly at: number; readonly entries: number; readonly context: number };

/** How long checkpoints are kept. What was asked for by a person stays until the cap is reached. */
export type Retention = {
  /** All of them for so long. */
  readonly allMs: number;
  /** Then one in so long. */
  readonly thinMs: number;
  /** And so many of one agent. */
  readonly most: number;
};

export type CheckpointDiff = {
  readonly one: Checkpoint;
  readonly other: Checkpoint;
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
  readonly files: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  readonly tokens: readonly [number, number];
  readonly crossings: readonly [number, number];
};

/** One record of the workspace's own log: what is not of one run alone. */
export type WorkspaceRecord =
  /** A run takes a turn in a conversation. */
  | { readonly type: 'turn'; readonly conversation: ConversationRef; readonly agent: string; readonly run: RunId }
  | { readonly type: 'attach' | 'detach'; readonly conversation: ConversationRef; readonly agent: string }
  | { readonly type: 'delete' | 'undelete' | 'purge'; readonly conversation: ConversationRef }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }
  | { readonly type: 'forget'; readonly checkpoints: readonly string[] }
  /** What was said after the checkpoint no longer counts; `run` goes on with what was cut. */
  | {
      readonly type: 'restore';
      readonly checkpoint: string;
      readonly conversation: ConversationRef | null;
      readonly run: RunId | null;
    }
  /**
   * A conversation that begins with what another one held; `entries` is where those are kept. `before`: so many of them were said
   * before its run began, the others while it was under way; without it, all were.
   */
  | {
      readonly type: 'branch';
      readonly checkpoint: string;
      readonly conversation: ConversationRef | null;
      readonly entries: string | null;
      readonly before?: number;
      readonly run: RunId | null;
    };

export type WorkspaceEntry = { readonly no: number; readonly at: number; readonly record: WorkspaceRecord };
