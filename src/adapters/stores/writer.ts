// Group commit, seen from the caller's thread.
//
//   G1. At most one batch is under way; what comes meanwhile waits in the next one, so one sync covers it all.
//   G2. A batch under way keeps the process alive; an idle writer does not.
//   G3. A batch always gets an answer, even when the thread dies.
//   G4. Once anything was posted, closing reaches a thread.
import type { RunId } from '#base';
import type { Ack, Item, ToWorker } from './messages.ts';

/** The thread that writes, seen from outside. */
export type Thread = {
  /** Each batch is answered by one acknowledgement; `close` ends the thread. */
  post(message: ToWorker): void;
  /** From here on it keeps the process alive. */
  ref(): void;
  unref(): void;
};

/** What a thread tells whoever started it; never during the call that starts it or posts to it. */
export type ThreadListener = {
  answer(ack: Ack): void;
  /** It is gone, and nothing more comes from it. */
  ended(reason: string): void;
};

export type WriterPorts = {
  startThread(ears: ThreadListener): Thread;
  /** Runs it after the promises that are resolved now, and what they do at once. */
  defer(work: () => void): void;
};

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
export const openWriter = (ports: WriterPorts, failed: (run: RunId, detail: string) => void): Writer => {
  let thread: { readonly port: Thread; readonly ended: Promise<void> } | undefined;
  let waiting: Batch | undefined;
  let flying: Batch | undefined;
  let scheduled = false;
  let closed = false;
  let posted = false;
  let transactions = 0;

  const settle = (ack: Ack): void => {
    const batch = flying;
    flying = undefined;
    thread?.port.unref();
    if (batch === undefined) return;
    transactions = ack.transactions;
    // probe: batch-failed-runs
    for (const [run, detail] of failedRuns(batch, ack)) failed(run, detail);
    batch.ack = ack;
    batch.settle(ack);
    if (waiting !== undefined) schedule();
  };
  const startThread = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const port = ports.startThread({
      answer: settle,
      ended(reason) {
        if (thread?.port === port) thread = undefined;
        settle({ ...nothingWritten(reason), transactions });
        resolve();
      },
    });
    return { port, ended: promise };
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
    posted = true;
    thread ??= startThread();
    thread.port.ref();
    thread.port.post({ type: 'batch', items: flying.items });
  };
  // After the promises that an answer has just resolved: what they append goes along.
  const schedule = (): void => {
    if (scheduled || flying !== undefined) return;
    scheduled = true;
    ports.defer(post);
  };

  return {
    add(item) {
      if (waiting !== undefined && isFull(waiting, item) && flying === undefined) post();
      const batch = (waiting ??= newBatch());
      batch.items.push(item);
      schedule();
      return batch;
    },
    transactions: () => transactions,
    async close() {
      for (let last = waiting ?? flying; last !== undefined; last = waiting ?? flying) await last.done;
      closed = true;
      if (!posted) return;
      // One that died has left runs that it did not give back.
      const ending = (thread ??= startThread());
      ending.port.ref();
      ending.port.post({ type: 'close' });
      await ending.ended;
    },
  };
};

/** So many go at once: the thread writes them while their successors are made. */
const enough = 64;

/** What one run appends in one go stays together: the beginning of a fork is all there, or nothing of it. */
const isFull = ({ items }: Batch, next: Item): boolean => {
  const last = items.at(-1);
  return items.length >= enough && !(last !== undefined && 'run' in last && 'run' in next && last.run === next.run);
};

const nothingWritten = (detail: string) =>
  ({ failure: { code: 'store_failed', detail }, refused: [], broken: [] }) as const;

const newBatch = (): Batch => {
  const { promise, resolve } = Promise.withResolvers<Ack>();
  return { items: [], ack: undefined, done: promise, settle: resolve };
};

const failedRuns = (batch: Batch, { failure, broken }: Ack): Map<RunId, string> => {
  const failed = new Map<RunId, string>();
  for (const item of failure === null ? [] : batch.items) {
    if (item.do === 'frame') failed.set(item.run, failure?.detail ?? '');
  }
  for (const { run, detail } of broken) failed.set(run, detail);
  return failed;
};
