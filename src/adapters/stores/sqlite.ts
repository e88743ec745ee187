// The store on disk: one database in a workspace folder, shared by any number of processes.
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { resolve, dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Leftover, SpaceReport } from '#contracts';
import { openLogReader } from './log-reader.ts';
import { openLogStore } from './log-store.ts';
import type { LogStore } from './log-store.ts';
import type { InjectedFaults, Ack, LifeCycleTask, TaskEnd, ToWorker, WorkerSetup } from './messages.ts';
import { processInstance, processOwners } from './processes.ts';
import { strayRunFolders } from './sqlite-deletions.ts';
import { pollChanges } from './sqlite-changes.ts';
import { openSqliteRows } from './sqlite-rows.ts';
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
    later: (work) => void setTimeout(work, releaseRetryMs).unref(),
    now,
    rebuild: async (run, request = {}) =>
      (await import('./rebuild.ts')).rebuildRuns({ folder: path, build }, run, request),
    lifeCycle: {
      pending: () => rows.pendingDeletions(),
      finish: async (runs, compact) => (await runInThread(setup, { do: 'finish', runs, compact })) as SpaceReport,
      forkBodies: async () => (await runInThread(setup, { do: 'forks' })) as readonly string[],
      runBytes: async () => (await runInThread(setup, { do: 'bytes' })) as ReadonlyMap<RunId, number>,
      strayFolders: () => strayRunFolders(path, busyTimeoutMs),
      leftovers: async () => (await runInThread(setup, { do: 'leftovers' })) as readonly Leftover[],
    },
    ...pollChanges(rows.changes),
    ...processInstance(setup.instance),
  });
};

/** Until a run whose release could not be written is released again. */
const releaseRetryMs = 250;

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
