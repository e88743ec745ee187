import type { MigrationReport } from '#contracts';
import type { MigrationOptions } from './migrate.ts';
import type { LogStore } from './log-store.ts';
import type { SqliteOptions } from './sqlite.ts';

export { memoryStore } from './memory.ts';
export { foldFacts, noFacts } from './run-facts.ts';
export type { RunFacts } from './run-facts.ts';

// Imported on first use, so that a store in memory never loads SQLite.

export const openSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<LogStore> =>
  (await import('./sqlite.ts')).createSqliteStore(folder, options);

export const migrateWorkspace = async (folder: string, options: MigrationOptions): Promise<MigrationReport> =>
  (await import('./migrate.ts')).migrateDatabase(folder, options);

export const checkWorkspaceWritable = async (folder: string, build: string): Promise<void> =>
  (await import('./database.ts')).probeWorkspaceWritable(folder, build);
