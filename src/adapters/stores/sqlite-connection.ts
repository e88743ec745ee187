// The writing connection, and its tables.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Tail } from './chain.ts';
import type { StoreConnection } from './committer.ts';
import type { Item } from './messages.ts';
import { databasePath, mayPack, openForWriting } from './database.ts';
import { deletionTables } from './sqlite-deletions.ts';
import { openHeadsWriter } from './heads-writer.ts';
import { packRecord } from './packed-records.ts';
import type { RunOwner, Owners } from './processes.ts';
import type { EpochOwner, Tables } from './tables.ts';
import { openTurns } from './turns.ts';

type SqlitePorts = {
  readonly busyTimeoutMs: number;
  readonly build: string;
  /** For tests: the database cannot grow past this many pages. */
  readonly pagesMax?: number | undefined;
  readonly self: RunOwner;
  readonly owners: Owners;
};

export const connectSqlite = (folder: string, ports: SqlitePorts): StoreConnection => {
  const database = openForWriting(folder, ports);
  try {
    if (ports.pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${ports.pagesMax}`);
    return createConnection(database, folder, ports);
  } catch (error) {
    database.close();
    throw error;
  }
};

const createConnection = (database: DatabaseSync, folder: string, ports: SqlitePorts): StoreConnection => {
  const path = databasePath(folder);
  const inode = statSync(path).ino;
  const isInPlace = (): boolean => statSync(path, { throwIfNoEntry: false })?.ino === inode;
  // From here on, waiting is up to the turns.
  database.exec('PRAGMA busy_timeout = 0');
  const turns = openTurns({ ...ports, database, folder });
  const heads = openHeadsWriter({ ...ports, workspace: folder, database, isInPlace });
  const bodies = openBodies(mayPack(database));
  return {
    tables: sqliteTables(database, bodies),
    prepare: bodies.prepare,
    begin() {
      turns.begin();
      heads.begin();
    },
    commit: () => database.exec('COMMIT'),
    isInPlace,
    recordTails: heads.append,
    acknowledgedTail: heads.newestTail,
    pruneHeads: heads.prune,
    close() {
      heads.close();
      turns.close();
      database.close();
    },
  };
};

export const readBlob = (database: DatabaseSync, ref: string): Uint8Array | undefined =>
  database.prepare('SELECT bytes FROM blobs WHERE ref = ?').get(ref)?.['bytes'] as Uint8Array | undefined;

type StoredBody = string | Uint8Array;

type Bodies = {
  /** Packs the frames of a transaction before it begins. */
  readonly prepare: (items: readonly Item[]) => void;
  /** What is stored for a body. */
  readonly stored: (body: string) => StoredBody;
};

const openBodies = (packs: boolean): Bodies => {
  if (!packs) return { prepare: () => {}, stored: (body) => body };
  const prepared = new Map<string, StoredBody>();
  return {
    prepare(items) {
      prepared.clear();
      for (const item of items) if (item.do === 'frame') prepared.set(item.body, packRecord(item.body));
    },
    stored(body) {
      const found = prepared.get(body);
      // Not kept until the next transaction, which may be long after.
      prepared.delete(body);
      return found ?? packRecord(body);
    },
  };
};

/** For whoever writes without other processes. */
export const openTables = (database: DatabaseSync): Tables => sqliteTables(database, openBodies(mayPack(database)));

const sqliteTables = (database: DatabaseSync, { stored }: Bodies): Tables => {
  const frame = database.prepare('INSERT INTO frames(run, no, body, hash) VALUES (?, ?, ?, ?)');
  const tail = database.prepare('SELECT no, hash FROM frames WHERE run = ? ORDER BY no DESC LIMIT 1');
  const blob = database.prepare(
    `INSERT INTO blobs(ref, bytes) VALUES (?, ?)
     ON CONFLICT (ref) DO UPDATE SET bytes = excluded.bytes WHERE bytes IS NOT excluded.bytes`,
  );
  const tighten = database.prepare('DELETE FROM loose_blobs WHERE ref = ?');
  const owner = database.prepare('SELECT pid, host, started, since, instance, epoch FROM owners WHERE run = ?');
  const own = database.prepare(
    'INSERT OR REPLACE INTO owners(run, pid, host, started, since, instance, epoch) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const countUp = database.prepare(
    `INSERT INTO meta(key, value) VALUES (?, '1')
     ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1 RETURNING CAST(value AS INTEGER) AS count`,
  );
  const release = database.prepare('DELETE FROM owners WHERE run = ? AND instance = ?');
  const releaseAll = database.prepare('DELETE FROM owners WHERE instance = ?');
  // Must match `addFacts`.
  const runs = database.prepare(
    `INSERT INTO runs(run, agent, goal, started_at, ended_at, status, cells, frames, head, caller, spent, format, build)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (run) DO UPDATE SET ended_at = coalesce(excluded.ended_at, ended_at),
       status = coalesce(excluded.status, status), cells = cells + excluded.cells,
       frames = excluded.frames, head = excluded.head, spent = coalesce(excluded.spent, spent)`,
  );
  const workspaceLogTail = database.prepare('SELECT no, hash FROM book ORDER BY no DESC LIMIT 1');
  const insertRecord = database.prepare('INSERT INTO book(no, body, hash) VALUES (?, ?, ?)');
  const setWorkspaceLogEnd = database.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES ('book', ?)");
  const countSignals = database.prepare(
    'SELECT count(*) AS count, count(CASE WHEN id = ? THEN 1 END) AS same FROM signals WHERE run = ?',
  );
  const insertSignal = database.prepare('INSERT INTO signals(run, id, by, at, body) VALUES (?, ?, ?, ?, ?)');
  const sharedVersion = database.prepare('SELECT version FROM shared WHERE key = ?');
  const setShared = database.prepare('INSERT OR REPLACE INTO shared(key, value, version) VALUES (?, ?, ?)');
  const removeSignal = database.prepare('DELETE FROM signals WHERE run = ? AND id = ?');
  return {
    ...deletionTables(database),
    tail: (run) => tail.get(run) as Tail | undefined,
    insertFrame: (run, no, body, hash) => void frame.run(run, no, stored(body), hash),
    putBlob(ref, bytes) {
      blob.run(ref, bytes);
      // Somebody is about to refer to it.
      tighten.run(ref);
    },
    owner: (run) => owner.get(run) as EpochOwner | undefined,
    setOwner: (run, { pid, host, started, since, instance, epoch: no }) =>
      void own.run(run, pid, host, started, since, instance, no),
    nextEpoch: () => Number(countUp.get('epoch')?.['count']),
    noteTakeOver: () => void countUp.get('take-overs'),
    release: (run, instance) => void release.run(run, instance),
    releaseAll: (instance) => void releaseAll.run(instance),
    updateRun: (run, { agent, goal, startedAt, endedAt, status, cells, caller, spent, recordedBy }, { no, hash }) => {
      const used = spent === null ? null : JSON.stringify(spent);
      const { format = null, build = null } = recordedBy ?? {};
      runs.run(run, agent, goal, startedAt, endedAt, status, cells, no + 1, hash, caller, used, format, build);
    },
    workspaceLogTail: () => workspaceLogTail.get() as Tail | undefined,
    insertRecord(no, body, hash) {
      insertRecord.run(no, body, hash);
      setWorkspaceLogEnd.run(`${no} ${hash}`);
    },
    waitingSignals(run, id) {
      const { count, same } = countSignals.get(id, run) as { count: number; same: number };
      return { count, isKnown: same > 0 };
    },
    insertSignal: ({ run, id, by, at, body }) => void insertSignal.run(run, id, by, at, body),
    removeSignal: (run, id) => void removeSignal.run(run, id),
    sharedVersion: (key) => Number(sharedVersion.get(key)?.['version'] ?? 0),
    setShared: (key, { value, version }) => void setShared.run(key, value, version),
  };
};
