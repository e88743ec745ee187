import type { SqliteOptions, SqliteStore } from './sqlite.ts';

export { memoryStore } from './memory.ts';
export type { SqliteOptions, SqliteStore } from './sqlite.ts';

// Imported when first used: what runs in memory only never loads SQLite.

export const openSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<SqliteStore> =>
  (await import('./sqlite.ts')).openSqliteStore(folder, options);
