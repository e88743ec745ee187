// The database file: where it is, whose it is, and what is in it.
//
//   database-foreign-never-written. A file that is not ours, or that has another format, is never written.
//   database-format-found-unopened. Whether it has another format is found out without opening it as a database in use,
//       because even a connection that only reads would create the files of the write-ahead log beside it.
//   database-meta-in-every-format. In every format, past and future, the table `meta(key, value)` has the format under
//       `cloister`, and from format 3 on the builds that created it and wrote to it last under `created-by` and `written-by`.
//   database-created-concurrently. Any number of processes may create it at the same time.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { CloisterError } from '#base';
import { storeError } from './store-error.ts';

export const databasePath = (folder: string): string => join(folder, 'cloister.db');

/**
 * The format of the tables and of the workspace log. Each run says the format of its own records (see `recordFormats`). From format 4
 * on, the workspace log can say that runs were deleted; a workspace of format 3 gets it with its first deletion. From format 5 on,
 * records may be packed. Nothing has been released yet, so earlier formats are refused.
 */
export const workspaceFormat = 5;

const formatWithDeletions = 4;
const formatWithPacking = 5;

const readableFormats: readonly string[] = ['3', String(formatWithDeletions), String(workspaceFormat)];

// `frames` is the truth; `runs` is a projection of it that also remembers how long each log was. A table with
// row ids keeps bodies in order of arrival, so that a group of frames of many runs lies side by side.
const schemaFor = (build: string): string => `
  CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO meta VALUES ('cloister', '${workspaceFormat}'), ('created-by', ${quote(build)}), ('written-by', ${quote(build)});
  CREATE TABLE frames(run TEXT NOT NULL, no INTEGER NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (run, no));
  CREATE TABLE blobs(ref TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE owners(run TEXT PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, started TEXT NOT NULL,
    since INTEGER NOT NULL, instance TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE runs(run TEXT PRIMARY KEY, agent TEXT NOT NULL, goal TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER, status TEXT, cells INTEGER NOT NULL, frames INTEGER NOT NULL, head TEXT NOT NULL,
    caller TEXT, spent TEXT, format INTEGER, build TEXT);
  CREATE TABLE book(no INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
  -- Each caller of a server asks for the newest of its own runs.
  CREATE INDEX runs_by_caller ON runs(caller, started_at) WHERE caller IS NOT NULL;
`;

// Added to workspaces of the same format that were created without it: builds that do not know it leave it alone. The numbers are
// never used again, so a watcher that knows the newest one sees whether more have come.
const signalsTable = `
  CREATE TABLE IF NOT EXISTS signals(no INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, id TEXT NOT NULL, by TEXT NOT NULL,
    at INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (run, id));
`;

// Added in the same way. A value that was removed keeps its version.
const sharedTable = `
  CREATE TABLE IF NOT EXISTS shared(key TEXT PRIMARY KEY, value TEXT, version INTEGER NOT NULL);
`;

// Added in the same way. The rows of an index are in the order of row ids, which is the order in which runs began.
const indexes = `
  CREATE INDEX IF NOT EXISTS runs_of_caller ON runs(caller) WHERE caller IS NOT NULL;
  CREATE INDEX IF NOT EXISTS open_runs ON runs(ended_at) WHERE ended_at IS NULL;
`;

const hasIndexes = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'open_runs'").get() !== undefined;

// `deleted`: for each run that was deleted, the record of the workspace log that says so, and what is still to be done.
// `loose_blobs`: blobs of deleted runs, until it is known whether other runs refer to them.
const deletionTables = `
  CREATE TABLE IF NOT EXISTS deleted(run TEXT PRIMARY KEY, no INTEGER NOT NULL, pending TEXT);
  CREATE TABLE IF NOT EXISTS loose_blobs(ref TEXT PRIMARY KEY);
`;

/**
 * Added in the same way. The epoch of an owner that a build wrote which knows none is 0, and so not that of an earlier owner. That of the
 * newest one is in `meta`, so none is used twice, although rows of owners go.
 */
const epochColumn = 'ALTER TABLE owners ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0';

const hasEpochs = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM pragma_table_info('owners') WHERE name = 'epoch'").get() !== undefined;

const hasTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== undefined;

export const hasSignals = (database: DatabaseSync): boolean => hasTable(database, 'signals');

export const hasShared = (database: DatabaseSync): boolean => hasTable(database, 'shared');

export const hasDeletions = (database: DatabaseSync): boolean => hasTable(database, 'deleted');

/** Whether records may be packed: not in a workspace that an earlier build must still be able to read. */
export const mayPack = (database: DatabaseSync): boolean => Number(readMeta(database)?.format) >= formatWithPacking;

/** Earlier builds do not know records about deletions, and would run what was deleted again. */
export const requireDeletions = (database: DatabaseSync): (() => void) => {
  const raise = database.prepare("UPDATE meta SET value = ? WHERE key = 'cloister' AND CAST(value AS INTEGER) < ?");
  return () => void raise.run(String(formatWithDeletions), formatWithDeletions);
};

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

type WritingOptions = {
  readonly busyTimeoutMs: number;
  /** The name and version of this program. */
  readonly build: string;
};

export const syncEveryCommit = (database: DatabaseSync): void => database.exec('PRAGMA synchronous = FULL');

export const openForWriting = (folder: string, { busyTimeoutMs, build }: WritingOptions): DatabaseSync => {
  makeFolder(folder);
  checkFormatUntouched(folder);
  const database = new DatabaseSync(databasePath(folder), { timeout: busyTimeoutMs });
  try {
    // What is deleted is overwritten, also where an earlier version of a row was.
    database.exec('PRAGMA secure_delete = ON');
    if (isEmpty(database)) createSchema(database, build);
    enterWal(database, busyTimeoutMs);
    syncEveryCommit(database);
    recordWriter(database, build);
    if (!hasSignals(database)) database.exec(signalsTable);
    if (!hasShared(database)) database.exec(sharedTable);
    if (!hasIndexes(database)) database.exec(indexes);
    if (!hasDeletions(database)) database.exec(deletionTables);
    if (!hasEpochs(database)) addEpochs(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/** Several processes may do it at the same time. */
const addEpochs = (database: DatabaseSync): void => {
  database.exec('BEGIN IMMEDIATE');
  if (!hasEpochs(database)) database.exec(epochColumn);
  database.exec('COMMIT');
};

/** Undefined if there is none, or nobody has finished creating it. */
export const openForReading = (folder: string, busyTimeoutMs: number): DatabaseSync | undefined => {
  if (!existsSync(databasePath(folder))) return undefined;
  checkFormatUntouched(folder);
  const database = new DatabaseSync(databasePath(folder), { readOnly: true, timeout: busyTimeoutMs });
  try {
    if (!isEmpty(database)) return database;
  } catch (error) {
    database.close();
    if (isHalfMade(error)) return undefined;
    throw error;
  }
  database.close();
  return undefined;
};

/** Throws what `isEmpty` would throw, but leaves the folder as it is. */
const checkFormatUntouched = (folder: string): void => {
  const path = databasePath(folder);
  if (existsSync(path)) checkFormat(readMetaUntouched(path));
};

/** Undefined if it is empty, or if only SQLite can tell. Leaves the folder as it is. */
export const readMetaUntouched = (path: string): WorkspaceMeta | undefined => {
  // A journal means that the file is half written.
  if (existsSync(`${path}-journal`)) return undefined;
  try {
    const url = pathToFileURL(path);
    url.search = 'immutable=1';
    using database = new DatabaseSync(url, { readOnly: true });
    return readMeta(database);
  } catch (error) {
    // Anything else is for the real connection to report: the file may be changing under this one.
    if (error instanceof CloisterError) throw error;
    return undefined;
  }
};

/** Who wrote last, if it was another build. */
const recordWriter = (database: DatabaseSync, build: string): void => {
  const writer = database.prepare("SELECT value FROM meta WHERE key = 'written-by'").get()?.['value'];
  if (writer !== build) database.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES ('written-by', ?)").run(build);
};

/** Its creator died in the middle (SQLITE_READONLY_ROLLBACK). No run is in it yet, and whoever writes next rolls it back. */
const isHalfMade = (error: unknown): boolean => (error as { errcode?: number }).errcode === 776;

/** False when it is ours; anything but ours or empty throws. */
const isEmpty = (database: DatabaseSync): boolean => {
  const meta = readMeta(database);
  checkFormat(meta);
  return meta === undefined;
};

const checkFormat = (meta: WorkspaceMeta | undefined): void => {
  if (meta !== undefined && !readableFormats.includes(meta.format)) throw otherFormat(meta);
};

/** What a workspace of any format says about itself. */
type WorkspaceMeta = { readonly format: string; readonly writer: string | undefined };

/** Undefined if it is empty. Throws `store_damaged` if it is not ours. */
export const readMeta = (database: DatabaseSync): WorkspaceMeta | undefined => {
  const names = database.prepare('SELECT name FROM sqlite_master').all();
  if (names.length === 0) return undefined;
  if (!names.some(({ name }) => name === 'meta')) throw foreign();
  const rows = database.prepare('SELECT * FROM meta').all();
  const read = (key: string): string | undefined => {
    const value = rows.find((row) => row['key'] === key)?.['value'];
    return value === undefined ? undefined : String(value);
  };
  const format = read('cloister');
  if (format === undefined) throw foreign();
  return { format, writer: read('written-by') };
};

const listFormats = (): string => `${readableFormats.slice(0, -1).join(', ')} and ${readableFormats.at(-1)}`;

const foreign = (): CloisterError =>
  new CloisterError('store_damaged', 'cloister.db belongs to another program; it was not touched.');

export const otherFormat = ({ format, writer }: WorkspaceMeta): CloisterError => {
  const by = writer ?? 'a build that was never released';
  const reader =
    Number(format) > workspaceFormat
      ? `Use ${writer ?? 'the build that wrote it'} or newer.`
      : `Only ${writer ?? 'the build that wrote it'} can read it: use that build, or another workspace.`;
  const detail = `cloister.db has format ${format}, written by ${by}. This build reads formats ${listFormats()}. ${reader} Nothing was changed.`;
  return new CloisterError('workspace_format', detail);
};

const createSchema = (database: DatabaseSync, build: string): void => {
  // Only has an effect while there is no table: pages that become free can be given back later.
  database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  database.exec('BEGIN IMMEDIATE');
  if (isEmpty(database)) database.exec(schemaFor(build) + signalsTable + sharedTable + indexes + deletionTables);
  database.exec('COMMIT');
};

/** SQLite does not wait by itself when two processes change the journal mode at once. */
const enterWal = (database: DatabaseSync, busyTimeoutMs: number): void => {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; ; waitedMs += 5) {
    try {
      const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode'];
      if (mode === 'wal') return;
      throw new CloisterError('store_failed', 'The file system cannot hold a write-ahead log.');
    } catch (error) {
      if (storeError(error).code !== 'store_busy' || waitedMs >= busyTimeoutMs) throw error;
      Atomics.wait(pause, 0, 0, 5);
    }
  }
};

/** Makes the folder level by level, and its name durable: SQLite syncs only what lies inside. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
  const descriptor = openSync(parent, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

// Checks before the first run whether a folder can store runs.
const busyTimeoutMs = 10_000;

/** Creates what is missing. Throws `store_failed` and similar errors, with the path. */
export const probeWorkspaceWritable = (folder: string, build: string): void => {
  try {
    const database = openForWriting(resolve(folder), { busyTimeoutMs, build });
    try {
      // An existing database may be read-only.
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
    } finally {
      database.close();
    }
  } catch (error) {
    const { code, failure } = storeError(error);
    throw new CloisterError(code, `${folder}: ${failure.detail ?? ''}`, { cause: error });
  }
};
