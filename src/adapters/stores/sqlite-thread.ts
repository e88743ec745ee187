// Starts the writer thread of the database.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Ack, ToWorker, WorkerSetup } from './messages.ts';
import type { Thread, ThreadListener } from './writer.ts';

export const startSqliteThread = (setup: WorkerSetup, listener: ThreadListener): Thread => {
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
