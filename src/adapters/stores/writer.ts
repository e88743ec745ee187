// Group commit, seen from the caller's thread.
//
//   G1. At most one batch is under way; what comes meanwhile waits in the next one, so one sync covers it all.
//   G2. A batch under way keeps the process alive; an idle writer does not.
//   G3. A batch always gets an answer, even when the thread dies.
import { Worker } from 'node:worker_threads';
import type { RunId } from '#base';
import type { Ack, Item, ToWorker, WorkerSetup } from './messages.ts';

export type Batch = {
  readonly items: Item[];
  /** Set once the batch was answered. */
  ack: Ack | undefined;
  /** Never rejects. */
  readonly done: Promise<Ack>;
  readonly settle: (ack: Ack) => void;
};

export type Writer = {
  /** The batch that will carry it. */
  add(item: Item): Batch;
  transactions(): number;
  close(): Promise<void>;
};

/** `failed` hears of every run whose frames were not written, before the batch settles. */
export const openWriter = (setup: WorkerSetup, failed: (run: RunId, detail: string) => void): Writer => {
  let worker: Worker | undefined;
  let waiting: Batch | undefined;
  let flying: Batch | undefined;
  let scheduled = false;
  let closed = false;
  let transactions = 0;

  const settle = (ack: Ack): void => {
    const batch = flying;
    flying = undefined;
    worker?.unref();
    if (batch === undefined) return;
    transactions = ack.transactions;
    for (const [run, detail] of failedRuns(batch, ack)) failed(run, detail);
    batch.ack = ack;
    batch.settle(ack);
    if (waiting !== undefined) schedule();
  };
  const startWorker = (): Worker => {
    let reason = 'The thread that writes has ended.';
    const started = newWorker(setup);
    started.on('message', settle);
    started.on('error', (error) => {
      reason = `The thread that writes has failed: ${error instanceof Error ? error.message : String(error)}`;
    });
    started.on('exit', () => {
      if (worker === started) worker = undefined;
      settle({ ...nothingWritten(reason), transactions });
    });
    return started;
  };
  const post = (): void => {
    scheduled = false;
    if (waiting === undefined || flying !== undefined) return;
    flying = waiting;
    waiting = undefined;
    if (closed) {
      settle({ ...nothingWritten('The store is closed.'), transactions });
      return;
    }
    worker ??= startWorker();
    worker.ref();
    send(worker, { type: 'batch', items: flying.items });
  };
  // After the promises that an answer has just resolved: what they append goes along.
  const schedule = (): void => {
    if (scheduled || flying !== undefined) return;
    scheduled = true;
    setImmediate(post);
  };

  return {
    add(item) {
      const batch = (waiting ??= newBatch());
      batch.items.push(item);
      schedule();
      return batch;
    },
    transactions: () => transactions,
    async close() {
      for (let last = waiting ?? flying; last !== undefined; last = waiting ?? flying) await last.done;
      closed = true;
      const ending = worker;
      if (ending === undefined) return;
      ending.ref();
      const { promise, resolve } = Promise.withResolvers<void>();
      ending.on('exit', () => resolve());
      send(ending, { type: 'close' });
      await promise;
    },
  };
};

/** The worker has no import conditions of its own: run from source, it is told where the source is. */
const newWorker = (setup: WorkerSetup): Worker => {
  const source = import.meta.url.endsWith('.ts');
  return new Worker(new URL(source ? './sqlite-worker.ts' : './sqlite-worker.js', import.meta.url), {
    workerData: setup,
    execArgv: source ? ['--conditions=cloister-source'] : [],
    env: {},
  });
};

const nothingWritten = (detail: string) =>
  ({ failure: { code: 'store_failed', detail }, refused: [], broken: [] }) as const;

const newBatch = (): Batch => {
  const { promise, resolve } = Promise.withResolvers<Ack>();
  return { items: [], ack: undefined, done: promise, settle: resolve };
};

const send = (worker: Worker, message: ToWorker): void => {
  const items = message.type === 'batch' ? message.items : [];
  worker.postMessage(
    message,
    items.flatMap((item) => (item.do === 'blob' ? [item.bytes.buffer] : [])),
  );
};

const failedRuns = (batch: Batch, { failure, broken }: Ack): Map<RunId, string> => {
  const failed = new Map<RunId, string>();
  for (const item of failure === null ? [] : batch.items) {
    if (item.do === 'frame') failed.set(item.run, failure?.detail ?? '');
  }
  for (const { run, detail } of broken) failed.set(run, detail);
  return failed;
};
