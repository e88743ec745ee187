// Reads on the caller's thread, through a connection that cannot write and creates nothing.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import type { RunQuery } from '#contracts';
import type { FrameRow, Tail } from './chain.ts';
import { databasePath, hasShared, hasSignals, openForReading } from './database.ts';
import { openChangesReader } from './sqlite-changes.ts';
import type { ReadChanges } from './sqlite-changes.ts';
import { deletionRows } from './sqlite-deletion-rows.ts';
import type { DeletionRows } from './sqlite-deletion-rows.ts';
import { findAcknowledgedHeads, openHeadsFolder } from './heads-folder.ts';
import type { HeadsFile, HeadsFolder } from './heads-folder.ts';
import type { RunTails, LogRows, RunRow } from './log-rows.ts';
import { decodeRunRow } from './run-row.ts';
import type { StoredRow } from './decode-owner.ts';
import { readBlob } from './sqlite-connection.ts';
import type { SharedRow, SignalRow } from './messages.ts';
import { unpackRows } from './packed-records.ts';
import { storeError } from './store-error.ts';

type ReadConnection = {
  /** `none` provides the result while there is no database. */
  readonly read: <T>(none: () => T, look: (database: DatabaseSync) => T) => T;
  readonly close: () => void;
};

const openReadConnection = (folder: string, busyTimeoutMs: number): ReadConnection => {
  let open: { database: DatabaseSync; inode: number } | undefined;

  const close = (): void => {
    open?.database.close();
    open = undefined;
  };
  /** Undefined while there is no database. The folder may have been created, or replaced, since the last call. */
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
        throw storeError(error, 'store_unreadable');
      }
    },
    close,
  };
};

type SqliteRows = LogRows &
  DeletionRows & {
    /** Costs little if nobody has written since the last call. */
    readonly changes: ReadChanges;
  };

export const openSqliteRows = (folder: string, busyTimeoutMs: number): SqliteRows => {
  const heads = openHeadsFolder(folder);
  const { read: reading, close } = openReadConnection(folder, busyTimeoutMs);
  const readChanges = openChangesReader();

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
    acknowledged: (run) => findAcknowledgedHeads(readAllHeads(heads), run),
    heads: () => readAllHeads(heads),
    list: (query) => reading(noRows, listRunRows(query)),
    runs: ({ prefix, most } = { prefix: '', most: -1 }) =>
      reading(
        () => [],
        (database) =>
          database
            .prepare(runsWithFrames)
            .all(prefix, idAfter(prefix), most)
            .map((row) => row['run'] as RunId),
      ),
    tails: (run) =>
      reading(
        () => ({ last: undefined, listed: undefined }),
        (database) => readTails(database, run),
      ),
    chunk: (run, from, count, charsMax = Infinity) =>
      reading(
        () => [],
        (database) => takeChars(unpackRows(database.prepare(chunkQuery).iterate(run, from, count)), charsMax),
      ),
    tailAt: (run, frames) =>
      reading(
        () => undefined,
        (database) => readTailAt(database, run, frames),
      ),
    workspaceLog: (from, read) =>
      reading(
        () => read([], undefined),
        (database) => readWorkspaceLog(database, from, read),
      ),
    blob: (ref) =>
      reading(
        () => undefined,
        (database) => readBlob(database, ref),
      ),
    signals: (run) => reading(() => [], readSignals(run)),
    shared: (key) => reading(() => undefined, readShared(key)),
    changes: (framesToo) =>
      reading(
        () => undefined,
        (database) => readChanges(database, framesToo),
      ),
    ...deletionRows(reading),
    close,
  };
};

const readAllHeads = (heads: HeadsFolder): readonly HeadsFile[] => {
  try {
    return heads.readAll();
  } catch (error) {
    throw storeError(error, 'store_unreadable');
  }
};

/** A workspace in which no newer build has written yet has no such table. */
const readSignals =
  (run: RunId | undefined) =>
  (database: DatabaseSync): readonly SignalRow[] => {
    if (!hasSignals(database)) return [];
    const [where, params] = run === undefined ? ['', []] : ['WHERE run = ?', [run]];
    const query = `SELECT run, id, by, at, body FROM signals ${where} ORDER BY no`;
    return database.prepare(query).all(...params) as SignalRow[];
  };

const readShared =
  (key: string) =>
  (database: DatabaseSync): SharedRow | undefined =>
    hasShared(database)
      ? (database.prepare('SELECT value, version FROM shared WHERE key = ?').get(key) as SharedRow | undefined)
      : undefined;

const chunkQuery = 'SELECT no, body, hash FROM frames WHERE run = ? AND no >= ? ORDER BY no LIMIT ?';

/** At least one row, if there is one. */
const takeChars = (rows: Iterable<FrameRow>, charsMax: number): readonly FrameRow[] => {
  const taken: FrameRow[] = [];
  let chars = 0;
  for (const row of rows) {
    taken.push(row);
    chars += String(row.body).length;
    if (chars >= charsMax) break;
  }
  return taken;
};

type Read<T> = (rows: Iterable<FrameRow>, end: Tail | undefined) => T;

const readTails = (database: DatabaseSync, run: RunId): RunTails =>
  inReadTransaction(database, () => ({
    last: readTailAt(database, run, undefined),
    listed: readListedTail(database, run),
  }));

const readListedTail = (database: DatabaseSync, run: RunId): Tail | undefined =>
  database.prepare('SELECT frames - 1 AS no, head AS hash FROM runs WHERE run = ?').get(run) as Tail | undefined;

const readLog = <T>(database: DatabaseSync, run: RunId, read: Read<T>): T =>
  inReadTransaction(database, () => {
    const rows = database.prepare('SELECT no, body, hash FROM frames WHERE run = ? ORDER BY no').iterate(run);
    return read(unpackRows(rows), readListedTail(database, run));
  });

/** Runs in a transaction, so that no writer can come between reading the end and the rows. */
const inReadTransaction = <T>(database: DatabaseSync, read: () => T): T => {
  database.exec('BEGIN');
  try {
    return read();
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK');
  }
};

const readWorkspaceLog = <T>(database: DatabaseSync, from: number, read: Read<T>): T =>
  inReadTransaction(database, () => {
    const end = database.prepare("SELECT value FROM meta WHERE key = 'book'").get()?.['value'];
    const [no, hash = ''] = typeof end === 'string' ? end.split(' ') : [];
    const rows = database.prepare('SELECT no, body, hash FROM book WHERE no >= ? ORDER BY no').iterate(from);
    return read(rows as Iterable<FrameRow>, no === undefined ? undefined : { no: Number(no), hash });
  });

const readTailAt = (database: DatabaseSync, run: RunId, frames: number | undefined): Tail | undefined => {
  const found =
    frames === undefined
      ? database.prepare('SELECT no, hash FROM frames WHERE run = ? ORDER BY no DESC LIMIT 1').get(run)
      : database.prepare('SELECT no, hash FROM frames WHERE run = ? AND no = ?').get(run, frames - 1);
  return found as Tail | undefined;
};

/** Jumps from each run to the next one in the index, so the cost grows with runs, not with frames. */
const runsWithFrames = `
  WITH RECURSIVE found(run) AS (
    SELECT min(run) FROM frames WHERE run >= ?1
    UNION ALL SELECT (SELECT min(run) FROM frames WHERE frames.run > found.run) FROM found
      WHERE found.run IS NOT NULL AND found.run < ?2
  ) SELECT run FROM found WHERE run IS NOT NULL AND run < ?2 LIMIT ?3`;

/** After every id that begins with this. */
const idAfter = (prefix: string): string => `${prefix}\u{10FFFF}`;

type Listing = { readonly columns: string; readonly join: string };

const withoutTails: Listing = { columns: '', join: '' };

const withTails: Listing = {
  columns: ', last.no AS last_no, last.hash AS last_hash',
  join: `LEFT JOIN frames AS last
     ON last.run = runs.run AND last.no = (SELECT max(no) FROM frames WHERE frames.run = runs.run)`,
};

const listQuery = ({ columns, join }: Listing, where: string): string => `
  SELECT runs.*, pid, owners.host, owners.started, owners.since, owners.instance ${columns}
  FROM runs LEFT JOIN owners USING (run) ${join}
  ${where} ORDER BY runs.rowid DESC LIMIT ?`;

const noRows = (): readonly RunRow[] => [];

const listRunRows =
  (query: RunQuery = {}) =>
  (database: DatabaseSync): readonly RunRow[] => {
    const { where, params, most } = whereClause(query);
    const read = (listing: Listing): readonly StoredRow[] =>
      database.prepare(listQuery(listing, where)).all(...params, most);
    try {
      return read(withTails).map((row) => ({
        ...decodeRunRow(row),
        tails: { listed: listedTailIn(row), last: lastTailIn(row) },
      }));
    } catch (error) {
      if (storeError(error).code !== 'store_damaged') throw error;
      return read(withoutTails).map((row) => ({ ...decodeRunRow(row), tails: tailsIfReadable(database, row) }));
    }
  };

/** A negative `most` means no limit. */
type WhereClause = { readonly where: string; readonly params: readonly (string | number)[]; readonly most: number };

/** Each condition has an index, except `since` without a caller. */
const whereClause = (query: RunQuery): WhereClause => {
  if ('runs' in query)
    return {
      where: 'WHERE runs.run IN (SELECT value FROM json_each(?))',
      params: [JSON.stringify(query.runs)],
      most: -1,
    };
  const { caller, since, prefix, open, before, most = -1 } = query;
  const conditions: readonly (readonly [sql: string, ...params: (string | number)[]])[] = [
    ...(caller === undefined ? [] : [['runs.caller = ?', caller] as const]),
    ...(since === undefined ? [] : [['runs.started_at >= ?', since] as const]),
    ...(open === undefined ? [] : [['runs.ended_at IS NULL'] as const]),
    ...(before === undefined ? [] : [['runs.rowid < (SELECT rowid FROM runs WHERE run = ?)', before] as const]),
    // Bounded here, so that a short prefix does not sort what it is not asked for.
    ...(prefix === undefined
      ? []
      : ([
          [
            'runs.run IN (SELECT run FROM runs WHERE run >= ? AND run < ? ORDER BY run LIMIT ?)',
            prefix,
            idAfter(prefix),
            most,
          ],
        ] as const)),
  ];
  return {
    where: conditions.length === 0 ? '' : `WHERE ${conditions.map(([sql]) => sql).join(' AND ')}`,
    params: conditions.flatMap(([, ...params]) => params),
    most,
  };
};

const listedTailIn = ({ frames, head }: StoredRow): Tail => ({ no: Number(frames) - 1, hash: String(head) });

const lastTailIn = ({ last_no: no, last_hash: hash }: StoredRow): Tail | undefined =>
  typeof no === 'number' && typeof hash === 'string' ? { no, hash } : undefined;

/** An unreadable tail counts as missing. */
const tailsIfReadable = (database: DatabaseSync, row: StoredRow): RunTails => {
  try {
    return readTails(database, String(row['run']) as RunId);
  } catch (error) {
    if (storeError(error).code !== 'store_damaged') throw error;
    return { listed: listedTailIn(row), last: undefined };
  }
};
