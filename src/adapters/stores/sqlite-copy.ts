// A workspace folder as the source or the target of a copy.
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { notEmpty } from './copy-store.ts';
import type { CopySource, CopyTarget, DeletedRun } from './copy-store.ts';
import { databasePath, hasDeletions, openForReading, openForWriting } from './database.ts';
import { processOwners } from './processes.ts';
import { openSqliteRows } from './sqlite-rows.ts';
import { openTables, readBlob } from './sqlite-connection.ts';
import { workspaceLogName } from './workspace-log.ts';

const busyTimeoutMs = 10_000;

const framesAtOnce = 250;

export const openSqliteSource = (folder: string): CopySource => {
  const path = resolve(folder);
  const database = openForReading(path, busyTimeoutMs);
  if (database === undefined) throw new CloisterError('options_invalid', `from: there is no workspace in ${folder}.`);
  const rows = openSqliteRows(path, busyTimeoutMs);
  return {
    workspaceLog: async () => rows.workspaceLog(0, (records, end) => ({ rows: [...records], end })),
    acknowledged(run) {
      const { tails, problems } = rows.acknowledged?.(run ?? workspaceLogName) ?? { tails: [], problems: [] };
      if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
      return tails;
    },
    async deleted() {
      if (!hasDeletions(database)) return [];
      const query = 'SELECT run, deleted.no AS no, pending FROM deleted JOIN book USING (no) ORDER BY no';
      return database.prepare(query).all() as unknown as readonly DeletedRun[];
    },
    async runs() {
      const listed = rows.list().toReversed();
      const ends = new Map(listed.map(({ run, tails }) => [run, tails?.listed ?? { no: -1, hash: '' }] as const));
      const isLive = ({ owner, endedAt }: (typeof listed)[number]): boolean =>
        endedAt === null && owner !== null && processOwners.isAlive(owner);
      return {
        ends,
        unlisted: rows.runs().filter((run) => !ends.has(run)),
        live: listed.filter(isLive).map(({ run }) => run),
      };
    },
    async *frames(run) {
      for (let from = 0; ;) {
        const chunk = rows.chunk?.(run, from, framesAtOnce, 1_000_000) ?? [];
        if (chunk.length === 0) return;
        yield chunk;
        from = Number(chunk.at(-1)?.no) + 1;
      }
    },
    async *blobs() {
      for (const { ref } of database.prepare('SELECT ref FROM blobs ORDER BY ref').all()) {
        const bytes = readBlob(database, String(ref));
        if (bytes !== undefined) yield { ref: String(ref), bytes };
      }
    },
    signals: async () => rows.signals(),
    async close() {
      rows.close();
      database.close();
    },
  };
};

/** It is made beside its place, and takes it as a whole. */
export const openSqliteTarget = (folder: string, build: string): CopyTarget => {
  const place = databasePath(resolve(folder));
  if (existsSync(place)) throw notEmpty(folder);
  const aside = join(resolve(folder), `.copy-${randomUUID()}`);
  mkdirSync(aside, { recursive: true });
  const database = openForWriting(aside, { busyTimeoutMs, build });
  const tables = openTables(database);
  const note = database.prepare('INSERT INTO deleted(run, no, pending) VALUES (?, ?, ?)');
  return {
    begin: async () => database.exec('BEGIN IMMEDIATE'),
    addRecord: async ({ no, body, hash }) => tables.insertRecord(no, body, hash),
    addDeleted: async ({ run, no, pending }) => void note.run(run, no, pending),
    async addFrames(run, frames) {
      for (const { no, body, hash } of frames) tables.insertFrame(run, no, body, hash);
    },
    addRun: async (run, facts, end) => tables.updateRun(run, facts, end),
    addBlob: async (ref, bytes) => tables.putBlob(ref, new Uint8Array(bytes)),
    addSignal: async (signal) => tables.insertSignal(signal),
    async ends() {
      const query = 'SELECT run, frames - 1 AS no, head AS hash FROM runs';
      const rows = database.prepare(query).all() as unknown as readonly (Tail & { readonly run: RunId })[];
      return new Map(rows.map(({ run, no, hash }) => [run, { no, hash }]));
    },
    async commit() {
      database.exec('COMMIT');
      database.exec('PRAGMA journal_mode = DELETE');
      database.close();
      if (existsSync(place)) throw notEmpty(folder);
      renameSync(databasePath(aside), place);
    },
    async close() {
      if (database.isOpen) database.close();
      rmSync(aside, { recursive: true, force: true });
    },
  };
};
