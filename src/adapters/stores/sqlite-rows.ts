// Reads on the caller's thread, through a connection that cannot write and makes nothing.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import type { Status } from '#contracts';
import type { FrameRow, Tail } from './chain.ts';
import { databasePath, openForReading } from './database.ts';
import { notedOf, openHeadsFolder } from './heads-folder.ts';
import type { LogRows, RunRow } from './log-reader.ts';
import { blobOf } from './sqlite-connection.ts';
import { storeError } from './store-error.ts';

export const openSqliteRows = (folder: string, busyTimeoutMs: number): LogRows => {
  const heads = openHeadsFolder(folder);
  let open: { database: DatabaseSync; inode: number } | undefined;

  const close = (): void => {
    open?.database.close();
    open = undefined;
  };
  /** Undefined while there is no database. The folder may have been made, or made anew, since the last look. */
  const connect = (): DatabaseSync | undefined => {
    const inode = statSync(databasePath(folder), { throwIfNoEntry: false })?.ino;
    if (open !== undefined && open.inode !== inode) close();
    if (inode === undefined || open !== undefined) return open?.database;
    const database = openForReading(folder, busyTimeoutMs);
    if (database !== undefined) open = { database, inode };
    return database;
  };
  const reading = <T>(none: () => T, read: (database: DatabaseSync) => T): T => {
    try {
      const database = connect();
      return database === undefined ? none() : read(database);
    } catch (error) {
      throw storeError(error);
    }
  };

  return {
    check: () => {
      reading(
        () => undefined,
        () => undefined,
      );
    },
    log: (run, read) =>
      reading(
        () => read([], undefined),
        (database) => readLog(database, run, read),
      ),
    noted(run) {
      try {
        return notedOf(heads.look(), run);
      } catch (error) {
        throw storeError(error);
      }
    },
    list: () => reading(() => [], listRuns),
    runs: () =>
      reading(
        () => [],
        (database) =>
          database
            .prepare('SELECT DISTINCT run FROM frames')
            .all()
            .map((row) => row['run'] as RunId),
      ),
    blob: (ref) =>
      reading(
        () => undefined,
        (database) => blobOf(database, ref),
      ),
    close,
  };
};

const readLog = <T>(
  database: DatabaseSync,
  run: RunId,
  read: (rows: Iterable<FrameRow>, end: Tail | undefined) => T,
): T => {
  // One transaction, so that a writer cannot come between the end and the frames.
  database.exec('BEGIN');
  try {
    const end = database.prepare('SELECT frames - 1 AS no, head AS hash FROM runs WHERE run = ?').get(run);
    const rows = database.prepare('SELECT no, body, hash FROM frames WHERE run = ? ORDER BY no').iterate(run);
    return read(rows as Iterable<FrameRow>, end as Tail | undefined);
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK');
  }
};

type Row = {
  readonly run: RunId;
  readonly agent: string;
  readonly goal: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly status: Status | null;
  readonly cells: number;
  readonly pid: number | null;
  readonly host: string;
  readonly started: string;
  readonly since: number;
  readonly instance: string;
};

const listRuns = (database: DatabaseSync): readonly RunRow[] =>
  database
    .prepare(
      `SELECT runs.*, pid, host, started, since, instance FROM runs LEFT JOIN owners USING (run)
       ORDER BY started_at DESC, runs.rowid DESC`,
    )
    .all()
    .map((row) => runRow(row as Row));

const runRow = ({ run, agent, goal, status, cells, pid, host, started, since, instance, ...row }: Row): RunRow => ({
  run,
  agent,
  goal,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  status,
  cells,
  owner: pid === null ? null : { pid, host, started, since, instance },
});
