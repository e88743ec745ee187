// Starts the thread that writes the database.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Ack, ToWorker, WorkerSetup } from './messages.ts';
import type { Thread, ThreadListener } from './writer.ts';

export const startSqliteThread = (setup: WorkerSetup, ears: ThreadListener): Thread => {
  const worker = newWorker(setup);
  let reason = 'The thread that writes has ended.';
  worker.on('message', (ack: Ack) => ears.answer(ack));
  worker.on('error', (error) => {
    reason = `The thread that writes has failed: ${error instanceof Error ? error.message : String(error)}`;
  });
  worker.on('exit', () => ears.ended(reason));
  return {
    post: (message) => worker.postMessage(message, buffersOf(message)),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
  };
};

/** The worker has no import conditions of its own: run from source, it is told where the source is. */
const newWorker = (setup: WorkerSetup): Worker => {
  const source = import.meta.url.endsWith('.ts');
  return new Worker(new URL(source ? './sqlite-worker.ts' : './sqlite-worker.js', import.meta.url), {
    workerData: setup,
    execArgv: source ? ['--conditions=cloister-source'] : [],
    env: source ? compileCache() : {},
  });
};

/** A clone's worker need not strip types anew each time, where its main thread keeps what it compiled. */
const compileCache = (): NodeJS.Dict<string> => {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
};

/** Bytes are handed over, not copied. */
const buffersOf = (message: ToWorker): ArrayBuffer[] =>
  message.type === 'close' ? [] : message.items.flatMap((item) => (item.do === 'blob' ? [item.bytes.buffer] : []));
