// Reads on the caller's thread, through a connection that cannot write and makes nothing.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import type { Spent, Status, RunQuery } from '#contracts';
import type { FrameRow, Tail } from './chain.ts';
import { databasePath, hasWorkspaceLog, hasCallers, openForReading } from './database.ts';
import { notedOf, openHeadsFolder } from './heads-folder.ts';
import type { RunTails, LogRows, RunRow } from './log-rows.ts';
import { blobOf } from './sqlite-connection.ts';
import { storeError } from './store-error.ts';
import { queryLimit } from './run-query.ts';

type Reading = {
  /** `none`: what is read while there is no database. */
  readonly read: <T>(none: () => T, look: (database: DatabaseSync) => T) => T;
  readonly close: () => void;
};

const openReading = (folder: string, busyTimeoutMs: number): Reading => {
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
  return {
    read(none, look) {
      try {
        const database = connect();
        return database === undefined ? none() : look(database);
      } catch (error) {
        throw storeError(error);
      }
    },
    close,
  };
};

export const openSqliteRows = (folder: string, busyTimeoutMs: number): LogRows => {
  const heads = openHeadsFolder(folder);
  const { read: reading, close } = openReading(folder, busyTimeoutMs);

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
    heads() {
      try {
        return heads.look();
      } catch (error) {
        throw storeError(error);
      }
    },
    list: (which) => reading(none, listRuns(which)),
    runs: () =>
      reading(
        () => [],
        (database) =>
          database
            .prepare(runsWithFrames)
            .all()
            .map((row) => row['run'] as RunId),
      ),
    ends: (run) =>
      reading(
        () => ({ last: undefined, listed: undefined }),
        (database) => endsOf(database, run),
      ),
    piece: (run, from, count) =>
      reading(
        () => [],
        (database) =>
          database
            .prepare('SELECT no, body, hash FROM frames WHERE run = ? AND no >= ? ORDER BY no LIMIT ?')
            .all(run, from, count) as unknown as FrameRow[],
      ),
    cut: (run, frames) =>
      reading(
        () => undefined,
        (database) => cutOf(database, run, frames),
      ),
    book: (from, read) =>
      reading(
        () => read([], undefined),
        (database) => readBook(database, from, read),
      ),
    blob: (ref) =>
      reading(
        () => undefined,
        (database) => blobOf(database, ref),
      ),
    close,
  };
};

type Read<T> = (rows: Iterable<FrameRow>, end: Tail | undefined) => T;

const endsOf = (database: DatabaseSync, run: RunId): RunTails =>
  atOneMoment(database, () => ({
    last: cutOf(database, run, undefined),
    listed: listedEnd(database, run),
  }));

const listedEnd = (database: DatabaseSync, run: RunId): Tail | undefined =>
  database.prepare('SELECT frames - 1 AS no, head AS hash FROM runs WHERE run = ?').get(run) as Tail | undefined;

const readLog = <T>(database: DatabaseSync, run: RunId, read: Read<T>): T =>
  atOneMoment(database, () => {
    const rows = database.prepare('SELECT no, body, hash FROM frames WHERE run = ? ORDER BY no').iterate(run);
    return read(rows as Iterable<FrameRow>, listedEnd(database, run));
  });

/** A transaction, so that a writer cannot come between the end and the rows. */
const atOneMoment = <T>(database: DatabaseSync, look: () => T): T => {
  database.exec('BEGIN');
  try {
    return look();
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK');
  }
};

const readBook = <T>(database: DatabaseSync, from: number, read: Read<T>): T =>
  atOneMoment(database, () => {
    if (!hasWorkspaceLog(database)) return read([], undefined);
    const end = database.prepare("SELECT value FROM meta WHERE key = 'book'").get()?.['value'];
    const [no, hash = ''] = typeof end === 'string' ? end.split(' ') : [];
    const rows = database.prepare('SELECT no, body, hash FROM book WHERE no >= ? ORDER BY no').iterate(from);
    return read(rows as Iterable<FrameRow>, no === undefined ? undefined : { no: Number(no), hash });
  });

const cutOf = (database: DatabaseSync, run: RunId, frames: number | undefined): Tail | undefined => {
  const found =
    frames === undefined
      ? database.prepare('SELECT no, hash FROM frames WHERE run = ? ORDER BY no DESC LIMIT 1').get(run)
      : database.prepare('SELECT no, hash FROM frames WHERE run = ? AND no = ?').get(run, frames - 1);
  return found as Tail | undefined;
};

type Row = {
  readonly run: RunId;
  readonly agent: string;
  readonly goal: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly status: Status | null;
  readonly cells: number;
  readonly frames: number;
  readonly head: string;
  /** Not there in a list that was made before they were, until somebody writes. */
  readonly caller?: string | null;
  readonly spent?: string | null;
  readonly last_no?: unknown;
  readonly last_hash?: unknown;
  readonly pid: number | null;
  readonly host: string;
  readonly started: string;
  readonly since: number;
  readonly instance: string;
};

/** From each run to the next one in the index: it is as long as there are runs, not frames. */
const runsWithFrames = `
  WITH RECURSIVE found(run) AS (
    SELECT min(run) FROM frames
    UNION ALL SELECT (SELECT min(run) FROM frames WHERE frames.run > found.run) FROM found WHERE found.run IS NOT NULL
  ) SELECT run FROM found WHERE run IS NOT NULL`;

type Listing = { readonly columns: string; readonly join: string };

const plainly: Listing = { columns: '', join: '' };

const withEnds: Listing = {
  columns: ', last.no AS last_no, last.hash AS last_hash',
  join: `LEFT JOIN frames AS last
     ON last.run = runs.run AND last.no = (SELECT max(no) FROM frames WHERE frames.run = runs.run)`,
};

const listed = ({ columns, join }: Listing, which: string): string => `
  SELECT runs.*, pid, owners.host, owners.started, owners.since, owners.instance ${columns}
  FROM runs LEFT JOIN owners USING (run) ${join}
  ${which} ORDER BY started_at DESC, runs.rowid DESC LIMIT ?`;

const none = (): readonly RunRow[] => [];

const listRuns =
  (which: RunQuery | undefined) =>
  (database: DatabaseSync): readonly RunRow[] => {
    if (which !== undefined && 'caller' in which && !hasCallers(database)) return [];
    const { where, given } = chosen(which);
    // Below zero there is no limit.
    const most = queryLimit(which) ?? -1;
    const read = (listing: Listing): Row[] => database.prepare(listed(listing, where)).all(...given, most) as Row[];
    try {
      return read(withEnds).map((row) => ({ ...runRow(row), ends: { listed: listedIn(row), last: lastIn(row) } }));
    } catch (error) {
      if (storeError(error).code !== 'store_damaged') throw error;
      return read(plainly).map((row) => ({ ...runRow(row), ends: endsIfReadable(database, row) }));
    }
  };

type Chosen = { readonly where: string; readonly given: readonly (string | number)[] };

const chosen = (which: RunQuery | undefined): Chosen => {
  if (which === undefined) return { where: '', given: [] };
  return 'caller' in which
    ? { where: 'WHERE runs.caller = ? AND runs.started_at >= ?', given: [which.caller, which.since ?? 0] }
    : { where: 'WHERE runs.run IN (SELECT value FROM json_each(?))', given: [JSON.stringify(which.runs)] };
};

const listedIn = ({ frames, head }: Row): Tail => ({ no: frames - 1, hash: head });

const lastIn = ({ last_no: no, last_hash: hash }: Row): Tail | undefined =>
  typeof no === 'number' && typeof hash === 'string' ? { no, hash } : undefined;

/** An end that cannot be read is not there. */
const endsIfReadable = (database: DatabaseSync, row: Row): RunTails => {
  try {
    return endsOf(database, row.run);
  } catch (error) {
    if (storeError(error).code !== 'store_damaged') throw error;
    return { listed: listedIn(row), last: undefined };
  }
};

const runRow = ({ run, agent, goal, status, cells, pid, host, started, since, instance, ...row }: Row): RunRow => ({
  run,
  agent,
  goal,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  status,
  cells,
  caller: row.caller ?? null,
  spent: spentIn(row.spent ?? null),
  owner: pid === null ? null : { pid, host, started, since, instance },
});

/** It is derived: what cannot be read of it is made again by `rebuild`. */
const spentIn = (text: string | null): Spent | null => {
  try {
    return JSON.parse(text ?? 'null') as Spent | null;
  } catch {
    return null;
  }
};
