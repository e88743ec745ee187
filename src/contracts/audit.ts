// What audits find.
import type { RecordedBy, RunId } from '#base';
import type { Leftover } from './store-life-cycle.ts';

/** What `audit` found in the record of a run. */
export type AuditReport = {
  readonly run: RunId;
  /** The format of its records, and the build that started it; null if its first record is lost. */
  readonly recordedBy: RecordedBy | null;
  /** Whether there are no problems. */
  readonly ok: boolean;
  /** How many contents crossed between cells, and how many crossings were refused. */
  readonly crossings: number;
  readonly refused: number;
  /** How many prompts were rebuilt from the records, and their bytes. */
  readonly prompts: number;
  readonly promptBytes: number;
  /** Bytes of prompts without a known origin; 0 in a sound record. */
  readonly unattributedBytes: number;
  /** How many cells the run had. */
  readonly cells: number;
  /** What does not hold, and where; empty in a sound record. */
  readonly problems: readonly AuditProblem[];
};

/** Something in a record that does not hold. `code` names the check; `where`: a cell, or one of its operations. */
export type AuditProblem = { readonly code: string; readonly where: string; readonly message: string };

/** What an audit found in a workspace besides its runs. */
export type WorkspaceAudit = {
  /** Whether there are no problems. */
  readonly ok: boolean;
  /** A workspace log or signals that cannot be read, and folders of runs that the log does not know. */
  readonly problems: readonly AuditProblem[];
  /** What belongs to no run and does no harm. */
  readonly leftovers: readonly Leftover[];
};
