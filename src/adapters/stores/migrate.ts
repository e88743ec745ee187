// Migrates the database of a workspace to the newest format, on request.
//
//   migration-in-one-step. The workspace is changed in one step: a copy is migrated and takes its place. Whatever happens
//       before that leaves the workspace as it was, and afterwards the former database is still there under another name.
//   migration-alone. No other process has the database open meanwhile, not even to read.
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CloisterError } from '#base';
import type { MigrationReport } from '#contracts';
import {
  databasePath,
  readMeta,
  readMetaUntouched,
  otherFormat,
  workspaceFormat,
  syncEveryCommit,
} from './database.ts';
import { packRecord } from './packed-records.ts';
import { storeError } from './store-error.ts';

/** Changes the tables from one format to the next. The text of a frame never changes: a run keeps the format of its records. */
export type Migration = { readonly from: number; readonly to: number; change(database: DatabaseSync): void };

/** The records of so many rows are read before they are written. */
const rowsAtOnce = 500;

/** A row keeps its number, by which the order of arrival is known. */
const packRecords = (database: DatabaseSync): void => {
  const next = database.prepare('SELECT rowid, body FROM frames WHERE rowid > ? ORDER BY rowid LIMIT ?');
  const store = database.prepare('UPDATE frames SET body = ? WHERE rowid = ?');
  for (let after = -1; ;) {
    const rows = next.all(after, rowsAtOnce);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = Number(last['rowid']);
    for (const { rowid, body } of rows) if (typeof body === 'string') store.run(packRecord(body), Number(rowid));
  }
};

/** The copy that is migrated can give back pages that become free. The tables that format 4 adds are made by whoever writes next. */
const migrations: readonly Migration[] = [
  { from: 3, to: 4, change: () => undefined },
  { from: 4, to: 5, change: packRecords },
];

export type MigrationOptions = {
  readonly build: string;
  readonly steps?: readonly Migration[];
  readonly newest?: number;
};

/** Throws `workspace_format` if there is no way to the newest format, and `store_busy` if another process uses the workspace. */
export const migrateDatabase = (
  folder: string,
  { build, steps = migrations, newest = workspaceFormat }: MigrationOptions,
): MigrationReport => {
  const path = databasePath(resolve(folder));
  if (!existsSync(path)) throw new CloisterError('options_invalid', `workspace: there is no workspace in ${folder}.`);
  const meta = readMetaUntouched(path);
  if (meta === undefined)
    throw new CloisterError('store_failed', `cloister.db in ${folder} is empty, half written or not a database.`);
  const from = Number(meta.format);
  const report = { from, to: newest, writtenBy: meta.writer ?? null };
  if (meta.format === String(newest)) return { ...report, copy: null };
  const way = meta.format === String(from) ? findWay(steps, from, newest) : undefined;
  if (way === undefined) throw otherFormat(meta);
  try {
    return { ...report, copy: replaceDatabase(path, { way, from, build }) };
  } catch (error) {
    const { code, failure } = storeError(error);
    if (code !== 'store_busy') throw storeError(error);
    throw new CloisterError(code, `Another process uses ${folder}. Nothing was changed. ${failure.detail ?? ''}`);
  }
};

const findWay = (steps: readonly Migration[], from: number, to: number): readonly Migration[] | undefined => {
  if (from === to) return [];
  const step = steps.find((one) => one.from === from && one.to > from && one.to <= to);
  const rest = step && findWay(steps, step.to, to);
  return step && rest && [step, ...rest];
};

type Plan = { readonly way: readonly Migration[]; readonly from: number; readonly build: string };

/** Returns the name of the former database. */
const replaceDatabase = (path: string, { way, from, build }: Plan): string => {
  const next = `${path}.new`;
  rmSync(next, { force: true });
  using database = new DatabaseSync(path, { timeout: 0 });
  // Leaving the write-ahead log needs the database alone, and this mode then keeps all others out until it is closed.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('PRAGMA journal_mode = DELETE');
  database.exec('BEGIN EXCLUSIVE; COMMIT');
  // Another process may have migrated it meanwhile.
  if (readMeta(database)?.format !== String(from)) throw new CloisterError('store_busy', 'It was just migrated.');
  database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  database.prepare('VACUUM INTO ?').run(next);
  try {
    applySteps(next, way, build);
    const copy = freeName(`${path}.format-${from}`);
    linkSync(path, copy);
    renameSync(next, path);
    syncFolder(resolve(path, '..'));
    return basename(copy);
  } finally {
    rmSync(next, { force: true });
  }
};

const applySteps = (path: string, way: readonly Migration[], build: string): void => {
  using database = new DatabaseSync(path);
  syncEveryCommit(database);
  database.exec('BEGIN IMMEDIATE');
  const setMeta = database.prepare('INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)');
  for (const step of way) {
    step.change(database);
    setMeta.run('cloister', String(step.to));
  }
  setMeta.run('written-by', build);
  database.exec('COMMIT');
  // What became shorter has left room in its pages.
  database.exec('VACUUM');
};

/** An earlier copy is never overwritten. */
const freeName = (name: string): string => {
  for (let nth = 1; ; nth++) {
    const free = nth === 1 ? name : `${name}.${nth}`;
    if (!existsSync(free)) return free;
  }
};

const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
