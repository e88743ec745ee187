// The database file: where it is, whose it is, and what is in it.
//
//   D1. A file that is not ours, or that has another format, is never written.
//   D2. Any number of processes may create it at the same time.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CloisterError } from '#base';
import { storeError } from './store-error.ts';

export const databasePath = (folder: string): string => join(folder, 'cloister.db');

/**
 * The number of the workspace's format. It covers what is recorded, not only the tables: rules render prompts again at audit,
 * so a change of their words needs a new number. Nothing has been released yet, so earlier formats are refused, not migrated.
 */
const version = 2;

// `frames` is the truth; `runs` is a projection of it that also remembers how long each log was. A table with
// row ids keeps bodies in order of arrival, so that a group of frames of many runs lies side by side.
const schema = `
  CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO meta VALUES ('cloister', '${version}');
  CREATE TABLE frames(run TEXT NOT NULL, no INTEGER NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (run, no));
  CREATE TABLE blobs(ref TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE owners(run TEXT PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, started TEXT NOT NULL,
    since INTEGER NOT NULL, instance TEXT NOT NULL);
  CREATE TABLE runs(run TEXT PRIMARY KEY, agent TEXT NOT NULL, goal TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER, status TEXT, cells INTEGER NOT NULL, frames INTEGER NOT NULL, head TEXT NOT NULL,
    caller TEXT, spent TEXT);
  CREATE TABLE book(no INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
  -- Each caller of a server asks for the newest of its own runs.
  CREATE INDEX runs_by_caller ON runs(caller, started_at) WHERE caller IS NOT NULL;
`;

export const openForWriting = (folder: string, busyTimeoutMs: number): DatabaseSync => {
  makeFolder(folder);
  const database = new DatabaseSync(databasePath(folder), { timeout: busyTimeoutMs });
  try {
    if (isEmpty(database)) createSchema(database);
    enterWal(database, busyTimeoutMs);
    database.exec('PRAGMA synchronous = FULL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/** Undefined while nobody has finished creating it. */
export const openForReading = (folder: string, busyTimeoutMs: number): DatabaseSync | undefined => {
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

/** Its creator died in the middle (SQLITE_READONLY_ROLLBACK). No run is in it yet, and whoever writes next rolls it back. */
const isHalfMade = (error: unknown): boolean => (error as { errcode?: number }).errcode === 776;

/** False when it is ours; anything but ours or empty throws. */
const isEmpty = (database: DatabaseSync): boolean => {
  const names = database.prepare('SELECT name FROM sqlite_master').all();
  if (names.length === 0) return true;
  if (!names.some(({ name }) => name === 'meta')) throw foreign();
  const found = database
    .prepare('SELECT * FROM meta')
    .all()
    .find((row) => row['key'] === 'cloister');
  if (found === undefined) throw foreign();
  if (found['value'] !== String(version)) throw otherFormat(String(found['value']));
  return false;
};

const foreign = (): CloisterError =>
  new CloisterError('store_damaged', 'cloister.db belongs to another program; it was not touched.');

const otherFormat = (found: string): CloisterError => {
  const age = Number(found) < version ? 'an earlier' : Number(found) > version ? 'a later' : 'another';
  const detail = `cloister.db has format ${found}, written by ${age} build of Cloister. This build reads format ${version} only. Nothing was changed.`;
  return new CloisterError('workspace_format', detail);
};

const createSchema = (database: DatabaseSync): void => {
  database.exec('BEGIN IMMEDIATE');
  if (isEmpty(database)) database.exec(schema);
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
