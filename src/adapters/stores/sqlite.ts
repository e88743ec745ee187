// The store on disk: one database in a workspace folder, shared by any number of processes.
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { resolve, dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, Leftover, SpaceReport } from '#contracts';
import { openForWriting } from './database.ts';
import { openLogReader, inspectLog } from './log-reader.ts';
import type { LogRows } from './log-rows.ts';
import { openLogStore } from './log-store.ts';
import type { LogStore } from './log-store.ts';
import type { InjectedFaults, Ack, LifeCycleTask, TaskEnd, ToWorker, WorkerSetup } from './messages.ts';
import { processOwners } from './processes.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import { strayRunFolders } from './sqlite-deletions.ts';
import { openSqliteRows } from './sqlite-rows.ts';
import { projectSteps, writeStepFile } from './step-files.ts';
import { storeError } from './store-error.ts';
import type { Thread, ThreadListener } from './writer.ts';

export type SqliteOptions = {
  /** How long to wait while another process writes. */
  readonly busyTimeoutMs?: number;
  readonly faults?: InjectedFaults;
  /** The name and version of this program: the workspace says who created it and who wrote last. */
  readonly build?: string;
  /** Clock for records of the workspace log. */
  readonly now?: () => number;
};

export const createSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<LogStore> => {
  const { busyTimeoutMs = 10_000, faults = {}, now = Date.now, build = 'unknown' } = options;
  const path = resolve(folder);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new CloisterError('store_failed', `${folder} is not a folder.`);
  const rows = openSqliteRows(path, busyTimeoutMs);
  const reader = openLogReader(rows, processOwners);
  reader.check();
  const setup = { folder: path, instance: randomUUID(), busyTimeoutMs, build, faults };
  return openLogStore({
    kind: 'sqlite',
    path,
    reader,
    startThread: (listener) => startSqliteThread(setup, listener),
    defer: setImmediate,
    now,
    rebuild: (run) => rebuild(path, build, run),
    lifeCycle: {
      pending: () => rows.pendingDeletions(),
      finish: async (runs, compact) => (await runInThread(setup, { do: 'finish', runs, compact })) as SpaceReport,
      forkBodies: async () => (await runInThread(setup, { do: 'forks' })) as readonly string[],
      runBytes: () => rows.runBytes(),
      strayFolders: () => strayRunFolders(path, busyTimeoutMs),
      leftovers: async () => (await runInThread(setup, { do: 'leftovers' })) as readonly Leftover[],
    },
    watchSignals: (notify) => pollSignals(() => rows.newestSignal(), notify),
  });
};

/** SQLite tells nobody about commits of other processes. In real time, whatever clock the runs have: others write in real time. */
const pollSignals = (readNewest: () => number, notify: () => void): (() => void) => {
  let newest = valueOrNull(readNewest);
  const poll = (): void => {
    const found = valueOrNull(readNewest);
    // An unreadable database is read again next time.
    if (found === null || found === newest) return;
    newest = found;
    notify();
  };
  // The process may end although it watches.
  const timer = setInterval(poll, signalPollMs).unref();
  return () => clearInterval(timer);
};

/** Below 100, so that a signal is noticed within that time. */
const signalPollMs = 80;

const valueOrNull = <T>(read: () => T): T | null => {
  try {
    return read();
  } catch {
    return null;
  }
};

// Starts the writer thread of the database.
const startSqliteThread = (setup: WorkerSetup, listener: ThreadListener): Thread => {
  const worker = newWorker(setup);
  let reason = 'The writer thread has exited.';
  worker.on('message', (ack: Ack) => listener.acknowledge(ack));
  worker.on('error', (error) => {
    reason = `The writer thread has failed: ${error instanceof Error ? error.message : String(error)}`;
  });
  worker.on('exit', () => listener.ended(reason));
  return {
    post: (message) => worker.postMessage(message, transferableBuffers(message)),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
  };
};

/** A task that may take long runs in a thread of its own. */
const runInThread = async (setup: WorkerSetup, task: LifeCycleTask): Promise<unknown> => {
  const worker = newWorker({ ...setup, task });
  const end = Promise.withResolvers<unknown>();
  worker.on('message', ({ value, failure }: TaskEnd) =>
    failure === undefined ? end.resolve(value) : end.reject(new CloisterError(failure.code, failure.detail)),
  );
  worker.on('error', (error) => end.reject(storeError(error)));
  worker.on('exit', () => end.reject(new CloisterError('store_failed', 'A thread of the store has exited.')));
  return end.promise;
};

/** A worker does not inherit import conditions, so a run from source must pass them on. */
const newWorker = (setup: WorkerSetup): Worker => {
  const source = import.meta.url.endsWith('.ts');
  return new Worker(new URL(source ? './sqlite-worker.ts' : './sqlite-worker.js', import.meta.url), {
    workerData: setup,
    execArgv: source ? ['--conditions=cloister-source'] : [],
    env: source ? compileCacheEnv() : {},
  });
};

/** Lets the worker of a clone reuse the main thread's compile cache instead of stripping types each time. */
const compileCacheEnv = (): NodeJS.Dict<string> => {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
};

/** Buffers are transferred, not copied. */
const transferableBuffers = (message: ToWorker): ArrayBuffer[] =>
  message.type === 'close' ? [] : message.items.flatMap((item) => (item.do === 'blob' ? [item.bytes.buffer] : []));

// Rebuilds the projections of a log: the row in the list of runs, the step files and the offloaded outputs.
const busyTimeoutMs = 10_000;

/** Rebuilds one run, or all runs in the log. Returns the number of files. A damaged log is not touched: `store_damaged`. */
const rebuild = async (folder: string, build: string, run?: RunId): Promise<number> => {
  const path = resolve(folder);
  const rows = openSqliteRows(path, busyTimeoutMs);
  try {
    const runs = run === undefined ? rows.runs() : [run];
    const listed = new Set(rows.list({ runs }).map((one) => one.run));
    const files = runs.reduce((count, one) => count + rebuildRun({ path, build }, rows, one), 0);
    if (!runs.every((one) => listed.has(one))) restoreOrder({ path, build });
    return files;
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

/**
 * Runs are listed in the order of their row ids, and one that was missing has just got the newest. The order in which they began is that
 * of their first frames; a run without frames keeps its place behind the run before it.
 */
const restoreOrder = ({ path, build }: Workspace): void => {
  const database = openForWriting(path, { busyTimeoutMs, build });
  try {
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
  } catch (error) {
    throw storeError(error);
  } finally {
    database.close();
  }
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
    }
    database.exec('COMMIT');
  } catch (error) {
    throw storeError(error);
  } finally {
    database.close();
  }
};
