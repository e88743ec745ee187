// Reads on the caller's thread, through a connection that cannot write and makes nothing.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CloisterError, sha256 } from '#base';
import type { RunId } from '#base';
import type { Frame, RunSummary, Status } from '#contracts';
import { checkChain } from './chain.ts';
import type { FrameRow, Tail } from './chain.ts';
import { databasePath, openForReading, storeError } from './database.ts';
import { lives, ownerInWords } from './owners.ts';

export type Reader = {
  /** Throws `store_damaged` when the file is there but is not ours. */
  check(): void;
  inspect(run: RunId): { readonly frames: readonly Frame[]; readonly problems: readonly string[] };
  list(): readonly RunSummary[];
  /** Every run that the log holds, listed or not. */
  runs(): readonly RunId[];
  blob(ref: string): Uint8Array;
  close(): void;
};

export const openReader = (folder: string, busyTimeoutMs: number): Reader => {
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
  const reading = <T>(none: T, read: (database: DatabaseSync) => T): T => {
    try {
      const database = connect();
      return database === undefined ? none : read(database);
    } catch (error) {
      throw storeError(error);
    }
  };

  return {
    check: () => reading(undefined, () => undefined),
    inspect(run) {
      const found = reading(undefined, (database) => inspectRun(database, run));
      if (found === undefined) throw new CloisterError('run_unknown', run);
      return found;
    },
    list: () => reading([], listRuns),
    runs: () =>
      reading([], (database) =>
        database
          .prepare('SELECT DISTINCT run FROM frames')
          .all()
          .map((row) => row['run'] as RunId),
      ),
    blob(ref) {
      const bytes = reading(undefined, (database) => blobOf(database, ref));
      if (bytes === undefined) throw new CloisterError('file_missing', ref);
      if (sha256(bytes) !== ref) throw new CloisterError('store_damaged', `blob ${ref} is not what was written`);
      return bytes;
    },
    close,
  };
};

export const blobOf = (database: DatabaseSync, ref: string): Uint8Array | undefined =>
  database.prepare('SELECT bytes FROM blobs WHERE ref = ?').get(ref)?.['bytes'] as Uint8Array | undefined;

const inspectRun = (
  database: DatabaseSync,
  run: RunId,
): { frames: readonly Frame[]; problems: readonly string[] } | undefined => {
  // One transaction, so that a writer cannot come between the end and the frames.
  database.exec('BEGIN');
  try {
    const end = database.prepare('SELECT frames - 1 AS no, head AS hash FROM runs WHERE run = ?').get(run);
    const rows = database.prepare('SELECT no, body, hash FROM frames WHERE run = ? ORDER BY no').iterate(run);
    const found = checkChain(run, rows as Iterable<FrameRow>, end as Tail | undefined);
    return end === undefined && found.frames.length + found.problems.length === 0 ? undefined : found;
  } catch (error) {
    const failure = storeError(error);
    if (failure.code !== 'store_damaged') throw failure;
    return { frames: [], problems: [`run ${run} cannot be read: ${failure.failure.detail ?? ''}`] };
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK');
  }
};

type RunRow = {
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
};

const listRuns = (database: DatabaseSync): readonly RunSummary[] =>
  database
    .prepare(
      `SELECT runs.*, pid, host, started, since FROM runs LEFT JOIN owners USING (run)
       ORDER BY started_at DESC, runs.rowid DESC`,
    )
    .all()
    .map((row) => summaryOf(row as RunRow));

const summaryOf = (row: RunRow): RunSummary => {
  const { run, agent, goal, status, cells, pid, host, started, since } = row;
  const owner = pid === null ? null : { pid, host, started, since };
  const running = row.ended_at === null && owner !== null && lives(owner);
  return {
    run,
    agent,
    goal,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    state: row.ended_at === null ? (running ? 'running' : 'interrupted') : 'ended',
    status,
    cells,
    owner: running ? ownerInWords(owner) : null,
  };
};
