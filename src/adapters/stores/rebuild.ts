// Derives again what is derived from the logs of runs: their rows in the list of runs, and on request their files for people.
//
//   rebuild-log-decides. Only an intact log is used; of any other run nothing is changed.
//   rebuild-says-what-changed. What was right already is not written, and not counted.
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, RebuildOptions, RebuildReport } from '#contracts';
import { openForWriting } from './database.ts';
import { inspectLog, openLogReader } from './log-reader.ts';
import type { LogRows } from './log-rows.ts';
import { processOwners } from './processes.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import { openSqliteRows } from './sqlite-rows.ts';
import { projectSteps, writeStepFile } from './step-files.ts';
import { storeError } from './store-error.ts';

const busyTimeoutMs = 10_000;

type Workspace = { readonly path: string; readonly build: string };

/** Of a run that is named, the files are made, too. Rejects if that one cannot be rebuilt; of all runs, those are reported. */
export const rebuildRuns = (
  { folder, build }: { readonly folder: string; readonly build: string },
  run: RunId | undefined,
  { files = run !== undefined }: RebuildOptions,
): RebuildReport => {
  const workspace = { path: resolve(folder), build };
  const rows = openSqliteRows(workspace.path, busyTimeoutMs);
  try {
    const runs = run === undefined ? rows.runs() : [run];
    const report = { runs: 0, listed: [] as RunId[], files: 0, skipped: [] as { run: RunId; problem: string }[] };
    if (runs.length === 0) return report;
    const before = new Set(rows.list({ runs }).map((one) => one.run));
    using database = openForWriting(workspace.path, { busyTimeoutMs, build });
    for (const one of runs)
      try {
        const frames = readIntact(rows, one);
        report.runs++;
        if (rebuildRow(database, one, frames)) report.listed.push(one);
        if (files) report.files += writeFiles(workspace, rows, one, frames);
      } catch (error) {
        if (run !== undefined) throw error;
        report.skipped.push({ run: one, problem: problemOf(error) });
      }
    if (report.listed.some((one) => !before.has(one))) restoreOrder(database);
    return report;
  } catch (error) {
    throw storeError(error);
  } finally {
    rows.close();
  }
};

/** Why a run cannot be rebuilt. What concerns all of them is thrown. */
const problemOf = (error: unknown): string => {
  const { code, failure } = storeError(error);
  if (!['store_damaged', 'run_format', 'file_missing', 'store_failed'].includes(code)) throw error;
  return failure.detail ?? code;
};

/** A run that is missing from the list is exactly what this repairs. */
const readIntact = (rows: LogRows, run: RunId): readonly Frame[] => {
  const { frames, problems } = inspectLog(rows, run);
  if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
  return frames;
};

const writeFiles = ({ path }: Workspace, rows: LogRows, run: RunId, frames: readonly Frame[]): number => {
  const reader = openLogReader(rows, processOwners);
  let changed = 0;
  for (const file of projectSteps(frames)) {
    const content = typeof file.content === 'string' ? Buffer.from(file.content) : reader.getBlob(file.content.ref);
    const written = writeStepFile(path, run, { ...file, content });
    if (written === null) throw new CloisterError('store_failed', `${file.cell}/${file.folder}/${file.name}`);
    if (written) changed++;
  }
  return changed;
};

/** Whether the row was missing or wrong. If another process has appended to the run meanwhile, the row is left to that process. */
const rebuildRow = (database: DatabaseSync, run: RunId, frames: readonly Frame[]): boolean => {
  const { spent, ...facts } = frames.reduce(foldFacts, noFacts);
  const { agent, goal, startedAt, endedAt, status, cells, caller, recordedBy } = facts;
  const { format = null, build = null } = recordedBy ?? {};
  const used = spent === null ? null : JSON.stringify(spent);
  const read = database.prepare('SELECT * FROM runs WHERE run = ?');
  database.exec('BEGIN IMMEDIATE');
  try {
    const end = database.prepare('SELECT no, hash FROM frames WHERE run = ? ORDER BY no DESC LIMIT 1').get(run);
    if (end?.['no'] !== frames.length - 1) return false;
    const before = read.get(run);
    database
      .prepare(
        `INSERT INTO runs(run, agent, goal, started_at, ended_at, status, cells, frames, head, caller, spent, format, build)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (run) DO UPDATE SET agent = excluded.agent, goal = excluded.goal, started_at = excluded.started_at,
           ended_at = excluded.ended_at, status = excluded.status, cells = excluded.cells, frames = excluded.frames,
           head = excluded.head, caller = excluded.caller, spent = excluded.spent, format = excluded.format,
           build = excluded.build`,
      )
      .run(
        run,
        agent,
        goal,
        startedAt,
        endedAt,
        status,
        cells,
        frames.length,
        end['hash'] ?? '',
        caller,
        used,
        format,
        build,
      );
    const isChanged = JSON.stringify(before) !== JSON.stringify(read.get(run));
    if (isChanged) database.exec('COMMIT');
    return isChanged;
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK');
  }
};

/**
 * Runs are listed in the order of their row ids, and one that was missing has just got the newest. The order in which they began is that
 * of their first frames; a run without frames keeps its place behind the run before it.
 */
const restoreOrder = (database: DatabaseSync): void =>
  database.exec(`
    BEGIN IMMEDIATE;
    CREATE TEMP TABLE firsts AS SELECT runs.run AS run, runs.rowid AS listed,
        coalesce(frames.rowid, max(frames.rowid) OVER (ORDER BY runs.rowid)) AS first
      FROM runs LEFT JOIN frames ON frames.run = runs.run AND frames.no = 0;
    CREATE TEMP TABLE places AS SELECT run, row_number() OVER (ORDER BY first, listed) AS place FROM firsts;
    CREATE UNIQUE INDEX temp.place_of_run ON places(run);
    UPDATE runs SET rowid = -(SELECT place FROM places WHERE places.run = runs.run);
    UPDATE runs SET rowid = -rowid;
    COMMIT;
  `);
