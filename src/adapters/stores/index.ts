import type { MigrationReport } from '#contracts';
import type { MigrationOptions } from './migrate.ts';
import type { SqliteOptions, SqliteStore } from './sqlite.ts';

export { memoryStore } from './memory.ts';
export type { SqliteOptions, SqliteStore } from './sqlite.ts';

export type { Migration } from './migrate.ts';

// For a store on another disk: the same commit and recovery, over other rows.
export { checkChain, noTail, recordHash } from './chain.ts';
export type { FrameRow, Tail } from './chain.ts';
export { openCommitter } from './committer.ts';
export type { CommitterPorts, StoreConnection } from './committer.ts';
export { openLogReader } from './log-reader.ts';
export type { LogReader } from './log-reader.ts';
export type { LogRows } from './log-rows.ts';
export { openLogStore } from './log-store.ts';
export type { LogStore } from './log-store.ts';
export type { Ack, ToWorker } from './messages.ts';
export { describeOwner } from './owner.ts';
export type { RunOwner, Owners } from './owner.ts';
export { addFacts } from './run-facts.ts';
export type { RunFacts } from './run-facts.ts';
export type { Tables } from './tables.ts';
export { matchesQuery, queryLimit } from './run-query.ts';
export type { Thread, ThreadListener } from './writer.ts';

// Imported on first use, so that a store in memory never loads SQLite.

export const openSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<SqliteStore> =>
  (await import('./sqlite.ts')).createSqliteStore(folder, options);

export const migrateWorkspace = async (folder: string, options: MigrationOptions): Promise<MigrationReport> =>
  (await import('./migrate.ts')).migrateDatabase(folder, options);

export const checkWorkspaceWritable = async (folder: string, build: string): Promise<void> =>
  (await import('./check-writable.ts')).probeWorkspaceWritable(folder, build);
