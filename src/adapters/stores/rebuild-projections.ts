// Rebuilds the projections of a log: the row in the list of runs, the step files and the offloaded outputs.
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { openForWriting } from './database.ts';
import { inspectLog, openLogReader } from './log-reader.ts';
import type { LogRows } from './log-rows.ts';
import { processOwners } from './processes.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import { openSqliteRows } from './sqlite-rows.ts';
import { projectSteps, writeStepFile } from './step-files.ts';
import { storeError } from './store-error.ts';

const busyTimeoutMs = 10_000;

/** Rebuilds one run, or all runs in the log. Returns the number of files. A damaged log is not touched: `store_damaged`. */
export const rebuild = async (folder: string, build: string, run?: RunId): Promise<number> => {
  const path = resolve(folder);
  const rows = openSqliteRows(path, busyTimeoutMs);
  try {
    const runs = run === undefined ? rows.runs() : [run];
    return runs.reduce((files, one) => files + rebuildRun({ path, build }, rows, one), 0);
  } finally {
    rows.close();
  }
};

type Workspace = { readonly path: string; readonly build: string };

const rebuildRun = (workspace: Workspace, rows: LogRows, run: RunId): number => {
  const { path } = workspace;
  // A run that is missing from the list is exactly what this repairs.
  const { frames, problems } = inspectLog(rows, run);
  if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
  rebuildRow(workspace, run, frames);
  const files = projectSteps(frames);
  const reader = openLogReader(rows, processOwners);
  for (const file of files) {
    const content = typeof file.content === 'string' ? file.content : reader.getBlob(file.content.ref);
    if (writeStepFile(path, run, { ...file, content })) continue;
    throw new CloisterError('store_failed', `${file.cell}/${file.folder}/${file.name}`);
  }
  return files.length;
};

/** If another process has appended to the run meanwhile, the row is left to that process. */
const rebuildRow = ({ path, build: writer }: Workspace, run: RunId, frames: readonly Frame[]): void => {
  const { spent, ...facts } = frames.reduce(foldFacts, noFacts);
  const { agent, goal, startedAt, endedAt, status, cells, caller, recordedBy } = facts;
  const { format = null, build = null } = recordedBy ?? {};
  const used = spent === null ? null : JSON.stringify(spent);
  const database = openForWriting(path, { busyTimeoutMs, build: writer });
  try {
    database.exec('BEGIN IMMEDIATE');
    const end = database.prepare('SELECT no, hash FROM frames WHERE run = ? ORDER BY no DESC LIMIT 1').get(run);
    if (end?.['no'] === frames.length - 1) {
      database
        .prepare(
          `INSERT OR REPLACE INTO runs(run, agent, goal, started_at, ended_at, status, cells, frames, head, caller, spent,
             format, build)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
    }
    database.exec('COMMIT');
  } catch (error) {
    throw storeError(error);
  } finally {
    database.close();
  }
};
