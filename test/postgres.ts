// PostgreSQL for tests: a server for each file that asks for one. Where there can be none, the file says that its tests did not run.
import { migratePostgresStore } from '#adapters/stores';
import { startPostgres } from '../tools/postgres.ts';
import type { PostgresServer } from '../tools/postgres.ts';
import { cleanUpAfter } from './cleanup.ts';
import { scratchFolder } from './scratch-folder.ts';

/** Commits need no real disk here. */
const settings = ['fsync=off', 'full_page_writes=off', 'shared_buffers=32MB', 'autovacuum=off'];

export type TestDatabase = {
  readonly server: PostgresServer;
  /** The address of a new schema, which has the tables. */
  newStore(): Promise<string>;
};

/** Null, and a line that says so, where PostgreSQL can neither be found nor installed. */
export const startTestDatabase = async (): Promise<TestDatabase | null> => {
  const { server, ...missing } = await startPostgres({ parent: scratchFolder(), settings });
  if (server === null) {
    console.warn(`Tests with PostgreSQL did NOT run: ${'why' in missing ? missing.why : ''}`);
    return null;
  }
  cleanUpAfter('file', () => server.remove());
  const database = server.newDatabase();
  let stores = 0;
  const newStore = async (): Promise<string> => {
    const url = `${database}?schema=store_${stores++}`;
    await migratePostgresStore(url, { build: 'test' });
    return url;
  };
  return { server, newStore };
};
