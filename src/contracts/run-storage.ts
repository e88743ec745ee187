// The life of recorded runs: deleting, archiving, exporting and importing them, and how long they are kept.
import type { RunId } from '#base';
import type { ConversationRef } from './conversation.ts';
import type { WorkspaceAudit } from './audit.ts';
import type { KeepRules } from './keep-rules.ts';
import type { SpaceReport } from './store-life-cycle.ts';
import type { RunSummary } from './store.ts';
import type { Tombstone } from './tombstone.ts';

/** Runs to delete: by their ids, all turns of a conversation and the conversation itself, or everything of a caller of a server. */
export type RunSelection =
  | { readonly runs: readonly string[] }
  | { readonly conversation: ConversationRef }
  | { readonly caller: string };

/** How to delete runs. */
export type RunDeletionOptions = {
  /** Kept in the tombstone. */
  readonly why?: string;
  /** Who asks, kept in the tombstone. Default: `operator`. */
  readonly by?: string;
  /** Also deletes runs that have not ended, and leaves others that hold the same text. */
  readonly force?: boolean;
  /** Also deletes whatever holds the same text: later turns, branches, forks, and checkpoints that somebody asked for. */
  readonly withLater?: boolean;
  /** Rewrites the whole database afterwards, so that no copy is left in it, however large it is. */
  readonly compact?: boolean;
  /** Only says what would be deleted. */
  readonly dryRun?: boolean;
  /** Only what belongs to this caller of a server is deleted, or named. */
  readonly caller?: string;
};

/** What holds text of a run besides the run itself. */
export type RunCopy =
  /** A later turn of its conversation, which was shown the messages of the run. `isArchived`: it is in an archive. */
  | { readonly kind: 'turn'; readonly run: RunId; readonly conversation: ConversationRef; readonly isArchived?: true }
  /** A run whose log begins with records of the run. */
  | { readonly kind: 'fork'; readonly run: RunId }
  /** A conversation that begins with a copy of its messages. */
  | { readonly kind: 'branch'; readonly conversation: ConversationRef }
  /** A checkpoint of the run that somebody asked for. */
  | { readonly kind: 'checkpoint'; readonly checkpoint: string; readonly run: RunId };

/** What was deleted, or would be. */
export type DeletionReport = {
  /** One for each run. */
  readonly tombstones: readonly Tombstone[];
  /** Archives that are gone, by the names of their files. */
  readonly archives: readonly string[];
  /** Conversations that are gone as a whole. */
  readonly conversations: readonly ConversationRef[];
  /** Copies that were left, because the deletion was forced. */
  readonly left: readonly RunCopy[];
  /** Files that may hold the same text and that were not touched, such as the database before a migration. */
  readonly otherFiles: readonly string[];
  /** Null if nothing was deleted, or nothing is on disk. */
  readonly space: SpaceReport | null;
};

/** How runs are expired. */
export type ExpiryOptions = {
  /** Only says what would be deleted. */
  readonly dryRun?: boolean;
  /** At most so many of the runs that are due go, the oldest first, and the rest of a conversation; default: all. */
  readonly most?: number;
  /** Runs that stay although they are due. */
  readonly spare?: (run: RunSummary) => boolean;
  /** Aborting it ends the work after what is being deleted now, and what was deleted so far is returned. */
  readonly signal?: AbortSignal;
};

/** What does not fit a seal, and where: a run, or a seal of the file. */
export type SealProblem = { readonly where: string; readonly message: string };

/** What came of comparing a workspace with the seals in a file. */
export type SealReport = {
  /** Whether there are no problems. */
  readonly ok: boolean;
  /** How many seals the file has, and how many runs they name. */
  readonly seals: number;
  readonly runs: number;
  /** The public keys with which they are signed. */
  readonly keys: readonly string[];
  readonly problems: readonly SealProblem[];
};

/** The life of recorded runs. */
export interface RunStorage {
  /**
   * Deletes runs: their records, files and exported messages. What is left of each is a tombstone in the workspace log, signed if the
   * operator has a key. Rejects with `run_kept` if a run has not ended, or if something else holds the same text; with `run_owned` for a
   * run that is live; with `run_unknown`, `conversation_unknown`.
   */
  delete(selection: RunSelection, options?: RunDeletionOptions): Promise<DeletionReport>;
  /** A run as the bytes of one compressed file, which `import` takes. Rejects with `run_unknown`, or `store_damaged`. */
  export(run: string): Promise<Uint8Array>;
  /**
   * Takes in a run from the bytes of an archive, record by record as it was. Returns its id. Rejects with `archive_invalid`,
   * `run_exists`, or with `run_kept` if that run was deleted here, unless forced.
   */
  import(archive: Uint8Array, options?: { readonly by?: string; readonly force?: boolean }): Promise<RunId>;
  /**
   * Moves runs into files in the folder `archive` of the workspace, and deletes them like `delete`. Returns what is left of them, with
   * the names of their files.
   */
  archive(runs: readonly string[], options?: Pick<RunDeletionOptions, 'why' | 'by' | 'force'>): Promise<DeletionReport>;
  /** Brings an archived run back, and removes its file. Rejects with `run_unknown`, or `archive_invalid`. */
  restore(run: string, options?: { readonly by?: string }): Promise<void>;
  /** How long runs are kept, by `keep` of the options or of the config; null: nothing says it. A server applies it by itself. */
  readonly keep: KeepRules | null;
  /**
   * Deletes the runs that these rules no longer keep; default: `keep`. The turns of a conversation go together. What has not ended, has a
   * checkpoint that somebody asked for, or of which others hold copies, stays. Returns what is left of the runs. Rejects with
   * `options_invalid` if nothing says how long runs are kept.
   */
  expire(rules?: KeepRules, options?: ExpiryOptions): Promise<readonly Tombstone[]>;
  /**
   * The heads of all logs as one line, signed if the operator has a key, to be appended to a file outside the workspace. `file`: what
   * is in that file already. Rejects with `options_invalid` if that are no seals.
   */
  seal(file: string): Promise<string>;
  /**
   * Compares the workspace with the seals in a file: finds logs that were cut, rewritten with all their hashes, or removed without a
   * tombstone. `key`: the operator's public key; default: that of the operator's own key, if there is one.
   */
  checkSeals(file: string, options?: { readonly key?: string }): Promise<SealReport>;
  /**
   * Audits what the workspace holds besides its runs, which `cloister.audit` audits one by one: the workspace log, signals, and what
   * belongs to no run.
   */
  audit(): Promise<WorkspaceAudit>;
  /** The names of folders below `runs/` of which the log knows no run. If it knows no run at all, it was deleted with its heads. */
  unknownFolders(): Promise<readonly string[]>;
  /** What is left of a run that was deleted; null if it was not. */
  tombstone(run: string): Promise<Tombstone | null>;
  /** What is left of all runs that were deleted, in the order of their deletion. `prefix`: only those whose ids begin with it. */
  tombstones(query?: { readonly prefix?: string }): Promise<readonly Tombstone[]>;
  /** Finishes deletions that a crash has interrupted. `openCloister` does this by itself. Returns how many there were. */
  finishDeletions(options?: { readonly compact?: boolean }): Promise<number>;
}
