// Group commit, seen from the caller's thread.
//
//   writer-one-batch-in-flight. Items that arrive meanwhile wait in the next batch, so one sync covers them all.
//   writer-batch-keeps-process. A batch in flight keeps the process alive; an idle writer does not.
//   writer-answers-every-batch. Even when the thread dies.
//   released-in-the-end. Runs whose release was in a failed batch are released with the next one, which comes after a while if nobody
//       writes: otherwise this process would own them for as long as it lives, with nobody on them.
//   writer-close-reaches-thread. Once anything was posted, closing always reaches a thread.
import type { RunId } from '#base';
import type { Ack, Item, ToWorker } from './messages.ts';

/** The writer thread, seen from outside. */
export type Thread = {
  /** Each batch is answered by one acknowledgement; `close` ends the thread. */
  post(message: ToWorker): void;
  /** Makes the thread keep the process alive. */
  ref(): void;
  unref(): void;
};

/** Receives the events of a thread; never called during the call that starts it or posts to it. */
export type ThreadListener = {
  acknowledge(ack: Ack): void;
  /** The thread has exited and sends nothing more. */
  ended(reason: string): void;
};

export type WriterPorts = {
  startThread(listener: ThreadListener): Thread;
  /** Runs `work` after the promises that are being resolved now and their immediate continuations. */
  defer(work: () => void): void;
  /** Runs `work` after a while. Nothing waits for it, and the process may end before. */
  later(work: () => void): void;
  /** The term of this process's lease; absent: it has none. */
  term?(): number;
};

export type Batch = {
  /** Empty once the batch was acknowledged. */
  items: Item[];
  /** Set once the batch was acknowledged. */
  ack: Ack | undefined;
  /** The term of the lease in which it was posted. */
  term: number;
  /** Never rejects. */
  readonly done: Promise<Ack>;
  readonly settle: (ack: Ack) => void;
};

export type Writer = {
  /** Returns the batch that will carry the item. */
  add(item: Item): Batch;
  transactions(): number;
  close(): Promise<void>;
};

/**
 * Both are called before the batch settles: for every run whose frames were not written or that was lost, and for every run with the newest
 * that was.
 */
type WriterListener = {
  readonly onRunFailed: (run: RunId, failure: RunFailure) => void;
  readonly onRunCommitted: (run: RunId, newest: number, term: number) => void;
};

export const openWriter = (ports: WriterPorts, listener: WriterListener): Writer => {
  let thread: RunningThread | undefined;
  let waiting: Batch | undefined;
  let inFlight: Batch | undefined;
  let [scheduled, closed, posted] = [false, false, false];
  let transactions = 0;
  const unreleased = new Set<RunId>();

  const settle = (ack: Ack): void => {
    const batch = inFlight;
    inFlight = undefined;
    thread?.port.unref();
    if (batch === undefined) return;
    transactions = ack.transactions;
    noteReleases(batch, ack, unreleased);
    notify(batch, ack, listener);
    batch.settle(ack);
    if (waiting !== undefined) schedule();
    else if (unreleased.size > 0) ports.later(retryReleases);
  };
  const retryReleases = (): void => {
    if (unreleased.size === 0 || closed) return;
    waiting ??= newBatch();
    schedule();
  };
  const startThread = (): RunningThread =>
    runThread(ports, settle, (port, reason) => {
      if (thread?.port === port) thread = undefined;
      settle({ ...failedAck(reason), transactions });
    });
  const post = (): void => {
    scheduled = false;
    if (waiting === undefined || inFlight !== undefined) return;
    inFlight = waiting;
    waiting = undefined;
    inFlight.items.unshift(...releasesOf(unreleased));
    inFlight.term = ports.term?.() ?? 0;
    if (closed) return settle({ ...failedAck('The store is closed.'), transactions });
    posted = true;
    thread ??= startThread();
    thread.port.ref();
    thread.port.post({ type: 'batch', items: inFlight.items });
  };
  // Deferred until after the promises that an acknowledgement has just resolved, so that what they append joins the batch.
  const schedule = (): void => {
    if (scheduled || inFlight !== undefined) return;
    scheduled = true;
    ports.defer(post);
  };

  return {
    add(item) {
      if (waiting !== undefined && isFull(waiting, item) && inFlight === undefined) post();
      const batch = (waiting ??= newBatch());
      batch.items.push(item);
      schedule();
      return batch;
    },
    transactions: () => transactions,
    async close() {
      for (let last = waiting ?? inFlight; last !== undefined; last = waiting ?? inFlight) await last.done;
      closed = true;
      if (!posted) return;
      // A thread that died did not release its runs, so a new one is started to do it.
      const ending = (thread ??= startThread());
      ending.port.ref();
      ending.port.post({ type: 'close' });
      await ending.ended;
    },
  };
};

type RunningThread = { readonly port: Thread; readonly ended: Promise<void> };

const runThread = (
  ports: WriterPorts,
  acknowledge: (ack: Ack) => void,
  onEnd: (port: Thread, reason: string) => void,
): RunningThread => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const port = ports.startThread({
    acknowledge,
    ended(reason) {
      onEnd(port, reason);
      resolve();
    },
  });
  return { port, ended: promise };
};

/** A batch of this size is posted immediately; the thread writes it while the next one fills. */
const batchItemsMax = 64;

/** They come first, because the batch may acquire one of the runs again. */
const releasesOf = (runs: ReadonlySet<RunId>): readonly Item[] => [...runs].map((run) => ({ do: 'release', run }));

/** Which runs are still to be released. */
const noteReleases = ({ items }: Batch, { failure }: Ack, unreleased: Set<RunId>): void => {
  for (const item of items) {
    if (item.do !== 'release') continue;
    if (failure === null) unreleased.delete(item.run);
    else unreleased.add(item.run);
  }
};

/** Consecutive items of one run stay together, so that the start of a fork is written completely or not at all. */
const isFull = ({ items }: Batch, next: Item): boolean => {
  const last = items.at(-1);
  return (
    items.length >= batchItemsMax && !(last !== undefined && 'run' in last && 'run' in next && last.run === next.run)
  );
};

const failedAck = (detail: string) => ({ failure: { code: 'store_failed', detail }, refused: [], broken: [] }) as const;

const newBatch = (): Batch => {
  const { promise, resolve } = Promise.withResolvers<Ack>();
  const batch: Batch = {
    items: [],
    ack: undefined,
    term: 0,
    done: promise,
    settle: (ack) => {
      batch.ack = ack;
      // Each run keeps its newest batch, with the frames of all others in it.
      batch.items = [];
      resolve(ack);
    },
  };
  return batch;
};

/** `isLost`: somebody else owns the run now. */
export type RunFailure = { readonly detail: string; readonly isLost?: true };

const failedRuns = (batch: Batch, { failure, broken }: Ack): Map<RunId, RunFailure> => {
  const failed = new Map<RunId, RunFailure>();
  for (const item of failure === null ? [] : batch.items) {
    if (item.do === 'frame') failed.set(item.run, { detail: failure?.detail ?? '' });
  }
  for (const { run, ...problem } of broken) failed.set(run, problem);
  return failed;
};

const notify = (batch: Batch, ack: Ack, { onRunFailed, onRunCommitted }: WriterListener): void => {
  const failed = failedRuns(batch, ack);
  // probe: batch-failed-runs
  for (const [run, failure] of failed) onRunFailed(run, failure);
  for (const [run, newest] of committedRuns(batch, failed)) onRunCommitted(run, newest, batch.term);
};

/** The newest frame of each run in the batch, except of those that failed. */
const committedRuns = (batch: Batch, failed: ReadonlyMap<RunId, unknown>): Map<RunId, number> => {
  const newest = new Map<RunId, number>();
  for (const item of batch.items) if (item.do === 'frame' && !failed.has(item.run)) newest.set(item.run, item.no);
  return newest;
};
