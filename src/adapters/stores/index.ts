import type { RunId } from '#base';
import type { SqliteOptions, SqliteStore } from './sqlite.ts';

export { memoryStore } from './memory.ts';
export { projectSteps } from './step-files.ts';
export type { StepFile } from './step-files.ts';
export type { SqliteOptions, SqliteStore } from './sqlite.ts';

// Imported when first used: what runs in memory only never loads SQLite.

export const openSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<SqliteStore> =>
  (await import('./sqlite.ts')).openSqliteStore(folder, options);

/** Writes a run's step files and offloaded outputs again, from its log. Gives the number of files. */
export const rebuild = async (folder: string, run: RunId): Promise<number> =>
  (await import('./rebuild.ts')).rebuild(folder, run);
