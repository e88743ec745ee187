import { isPostgresUrl } from './postgres-url.ts';
import type { MigrationReport } from '#contracts';
import type { MigrationOptions } from './migrate.ts';
import type { LogStore } from './log-store.ts';
import type { PostgresMigration } from './postgres-migrate.ts';
import type { PostgresOptions } from './postgres.ts';
import type { SqliteOptions } from './sqlite.ts';

export { memoryStore } from './memory.ts';
export { isPostgresUrl } from './postgres-url.ts';
export { foldFacts, noFacts } from './run-facts.ts';
export type { RunFacts } from './run-facts.ts';

// Imported on first use, so that a store in memory never loads SQLite.

export const openSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<LogStore> =>
  (await import('./sqlite.ts')).createSqliteStore(folder, options);

/** `url`: `postgres://…`. Its tables must be there. */
export const openPostgresStore = async (url: string, options: PostgresOptions = {}): Promise<LogStore> =>
  (await import('./postgres.ts')).createPostgresStore(url, options);

export const migrateWorkspace = async (folder: string, options: MigrationOptions): Promise<MigrationReport> =>
  (await import('./migrate.ts')).migrateDatabase(folder, options);

export const checkWorkspaceWritable = async (folder: string, build: string): Promise<void> =>
  (await import('./database.ts')).probeWorkspaceWritable(folder, build);

export const checkPostgresWritable = async (url: string, password?: string): Promise<void> =>
  (await import('./postgres.ts')).probePostgresWritable(url, password);

/** Makes its tables, or changes those of an earlier version. */
export const migratePostgresStore = async (url: string, options: PostgresMigration): Promise<MigrationReport> =>
  (await import('./postgres-migrate.ts')).migratePostgres(url, options);

type CopyPlaces = {
  /** Each is an address of a database or a workspace folder. */
  readonly from: string;
  readonly to: string;
  readonly password?: string | undefined;
  readonly build: string;
};

/** Copies everything in a store into an empty one. */
export const copyStorePlaces = async ({ from, to, password, build }: CopyPlaces) => {
  const [{ copyStore }, sqlite, postgres] = await Promise.all([
    import('./copy-store.ts'),
    import('./sqlite-copy.ts'),
    import('./postgres-copy.ts'),
  ]);
  const source = isPostgresUrl(from)
    ? await postgres.openPostgresSource({ url: from, password })
    : sqlite.openSqliteSource(from);
  try {
    const target = isPostgresUrl(to)
      ? await postgres.openPostgresTarget({ url: to, password })
      : sqlite.openSqliteTarget(to, build);
    try {
      return await copyStore(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
};

/** For people: without the password. */
export const shownAddress = async (url: string): Promise<string> =>
  (await import('./postgres-address.ts')).parsePostgresUrl(url).shown;
