// Deleted runs in SQLite: what goes in the transaction, and what is done about their files, blobs and free space afterwards.
//
//   deletion-leaves-no-bytes. Deleted records are overwritten (`secure_delete`), the write-ahead log is folded into the database and
//       emptied, and a small database is written anew, because SQLite leaves copies in pages that it has once divided.
//   deletion-finished-last. A deletion counts as finished only when all of that is done; it may be repeated at any time.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isName } from '#base';
import type { RunId } from '#base';
import type { SpaceReport } from '#contracts';
import { databasePath, hasDeletions, openForReading, openForWriting, requireDeletions } from './database.ts';
import type { DeletionTables } from './delete-runs.ts';
import type { LifeCycleTask, TaskEnd } from './messages.ts';
import { findBlobRefs, findLeftovers } from './sqlite-leftovers.ts';
import { isDiskFull, storeError } from './store-error.ts';

export const deletionTables = (database: DatabaseSync): DeletionTables => {
  const record = database.prepare('SELECT deleted.no FROM deleted JOIN book USING (no) WHERE run = ?');
  const bodies = database.prepare('SELECT body FROM frames WHERE run = ?');
  const removals = ['frames', 'runs', 'owners', 'signals'].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE run = ?`),
  );
  const note = database.prepare('INSERT OR REPLACE INTO deleted(run, no, pending) VALUES (?, ?, ?)');
  const loosen = database.prepare('INSERT OR IGNORE INTO loose_blobs(ref) SELECT ref FROM blobs WHERE ref = ?');
  const undelete = database.prepare('DELETE FROM deleted WHERE run = ?');
  const raiseFormat = requireDeletions(database);
  return {
    recordOfDeletion: (run) => record.get(run)?.['no'] as number | undefined,
    deleteRun(run, no, pending) {
      raiseFormat();
      const refs = new Set<string>();
      for (const { body } of bodies.iterate(run)) for (const ref of findBlobRefs(body)) refs.add(ref);
      for (const ref of refs) loosen.run(ref);
      for (const removal of removals) removal.run(run);
      note.run(run, no, pending);
    },
    loosenBlobs(refs) {
      for (const ref of refs) loosen.run(ref);
    },
    undeleteRun: (run) => void undelete.run(run),
  };
};

type TaskOptions = { readonly folder: string; readonly build: string; readonly busyTimeoutMs: number };

/** Runs in a thread of its own, because it may take long. */
export const runLifeCycleTask = (task: LifeCycleTask, options: TaskOptions): TaskEnd['value'] => {
  try {
    switch (task.do) {
      case 'forks':
        return readForks(options);
      case 'leftovers':
        return findLeftovers(options.folder, options.busyTimeoutMs);
      case 'bytes':
        return readRunBytes(options);
      case 'finish':
        return finishDeletions(task, options);
    }
  } catch (error) {
    throw storeError(error);
  }
};

const readRunBytes = ({ folder, busyTimeoutMs }: TaskOptions): ReadonlyMap<RunId, number> => {
  using database = openForReading(folder, busyTimeoutMs);
  const rows = database?.prepare('SELECT run, sum(octet_length(body)) AS bytes FROM frames GROUP BY run').all() ?? [];
  return new Map(rows.map(({ run, bytes }) => [run as RunId, Number(bytes)]));
};

// An index over a condition that holds for few rows: made when it is first needed, and kept by SQLite from then on. Records of forks
// are never packed.
const isFork = `instr(body, '"type":"fork"') > 0`;

const readForks = (options: TaskOptions): readonly string[] => {
  using database = openForWriting(options.folder, options);
  database.exec(`CREATE INDEX IF NOT EXISTS frames_of_forks ON frames(no) WHERE ${isFork}`);
  return database
    .prepare(`SELECT body FROM frames WHERE ${isFork}`)
    .all()
    .map(({ body }) => String(body));
};

const finishDeletions = (
  { runs, compact }: Extract<LifeCycleTask, { do: 'finish' }>,
  options: TaskOptions,
): SpaceReport => {
  const { folder } = options;
  using database = openForWriting(folder, options);
  const isDeleted = database.prepare('SELECT 1 FROM deleted WHERE run = ?');
  const gone = runs.filter((run) => isDeleted.get(run) !== undefined);
  for (const run of gone) removeRunFolder(folder, run);
  const blobs = removeLooseBlobs(database);
  const bytesBefore = bytesOnDisk(folder);
  const isFolded = giveSpaceBack(database, compact);
  if (isFolded) {
    const finish = database.prepare('UPDATE deleted SET pending = NULL WHERE run = ?');
    database.exec('BEGIN IMMEDIATE');
    for (const run of gone) finish.run(run);
    database.exec('COMMIT');
    foldWal(database);
  }
  return { bytesBefore, bytesAfter: bytesOnDisk(folder), blobs, isFinished: isFolded };
};

const removeRunFolder = (folder: string, run: RunId): void => {
  if (isName(run)) rmSync(join(folder, 'runs', run), { recursive: true, force: true });
};

/** Two passes: a long one while others write, and a short one over what they wrote meanwhile. */
const removeLooseBlobs = (database: DatabaseSync): number => {
  const loose = new Set(
    database
      .prepare('SELECT ref FROM loose_blobs')
      .all()
      .map(({ ref }) => String(ref)),
  );
  if (loose.size === 0) return 0;
  const used = new Set<string>();
  const last = markUsed(database, loose, { used, after: -1 });
  database.exec('BEGIN IMMEDIATE');
  markUsed(database, loose, { used, after: last });
  const isLoose = database.prepare('SELECT 1 FROM loose_blobs WHERE ref = ?');
  const remove = database.prepare('DELETE FROM blobs WHERE ref = ?');
  const tighten = database.prepare('DELETE FROM loose_blobs WHERE ref = ?');
  let removed = 0;
  for (const ref of loose) {
    // One that was stored again meanwhile is no longer loose.
    if (!used.has(ref) && isLoose.get(ref) !== undefined) removed += Number(remove.run(ref).changes);
    tighten.run(ref);
  }
  database.exec('COMMIT');
  return removed;
};

/** Returns the last row that was read. */
const markUsed = (
  database: DatabaseSync,
  loose: ReadonlySet<string>,
  { used, after }: { readonly used: Set<string>; readonly after: number },
): number => {
  let last = after;
  const rows = database.prepare('SELECT rowid, body FROM frames WHERE rowid > ? ORDER BY rowid').iterate(after);
  for (const { rowid, body } of rows) {
    for (const ref of findBlobRefs(body)) if (loose.has(ref)) used.add(ref);
    last = Number(rowid);
  }
  return last;
};

/** Up to this size, writing the database anew takes less than about a second. */
const rewriteBytesMax = 64 * 1024 * 1024;

/** Whether nothing of what was deleted is left in the database and its write-ahead log. */
const giveSpaceBack = (database: DatabaseSync, compact: boolean): boolean => {
  const pages = pragma(database, 'page_count') - pragma(database, 'freelist_count');
  if (compact || pages * pragma(database, 'page_size') <= rewriteBytesMax) {
    // A database of an earlier build cannot give back single pages; from now on it can.
    database.exec('PRAGMA auto_vacuum = INCREMENTAL');
    const isRewritten = rewriteDatabase(database);
    // What is free now may be the space that a later try needs.
    if (!isRewritten) database.exec('PRAGMA incremental_vacuum');
    return foldWal(database) && isRewritten;
  }
  database.exec('PRAGMA incremental_vacuum');
  return foldWal(database);
};

/** False: the disk has no room for a second copy of the database. */
const rewriteDatabase = (database: DatabaseSync): boolean => {
  try {
    database.exec('VACUUM');
    return true;
  } catch (error) {
    if (isDiskFull(error)) return false;
    throw error;
  }
};

const foldWal = (database: DatabaseSync): boolean =>
  database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);

const bytesOnDisk = (folder: string): number =>
  ['', '-wal'].reduce(
    (sum, suffix) => sum + (statSync(`${databasePath(folder)}${suffix}`, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

/** Folders of runs that the store does not know. */
export const strayRunFolders = (folder: string, busyTimeoutMs: number): readonly string[] => {
  const names = listFolder(join(folder, 'runs'));
  if (names.length === 0) return [];
  try {
    return unknownAmong(names, folder, busyTimeoutMs);
  } catch (error) {
    throw storeError(error, 'store_unreadable');
  }
};

const unknownAmong = (names: readonly string[], folder: string, busyTimeoutMs: number): readonly string[] => {
  using database = openForReading(folder, busyTimeoutMs);
  const known = database?.prepare('SELECT 1 FROM frames WHERE run = ? LIMIT 1');
  const pending =
    database !== undefined && hasDeletions(database)
      ? database.prepare('SELECT 1 FROM deleted WHERE run = ? AND pending IS NOT NULL')
      : undefined;
  const owned = database?.prepare('SELECT 1 FROM owners WHERE run = ?');
  return names.filter((name) => [known, pending, owned].every((query) => query?.get(name) === undefined));
};

const listFolder = (path: string): readonly string[] => {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
};
