// The writer thread. It receives batches and answers each with one acknowledgement.
//
//   step-files-after-acknowledgement. Step files are written after the acknowledgement, and their failure never affects a run.
import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { openCommitter } from './committer.ts';
import { databasePath } from './database.ts';
import type { LifeCycleTask, TaskEnd, ToWorker, WorkerSetup } from './messages.ts';
import type { RunOwner } from './processes.ts';
import { processOwners, thisProcess } from './processes.ts';
import { connectSqlite } from './sqlite-connection.ts';
import { runLifeCycleTask } from './sqlite-deletions.ts';
import { storeError } from './store-error.ts';
import { forgetFolders, openStepFold, writeStepFile } from './step-files.ts';
import type { StepFile, StepFold } from './step-files.ts';

// Writes step files when no batch waits, so that no acknowledgement is delayed by them.

/** Longest time slice; after it, a waiting batch goes first. */
const sliceMs = 2;
/** Past this many queued items, all are written immediately. */
const queuedMax = 20_000;

type FileQueue<T> = {
  add(items: readonly T[]): void;
  /** Writes everything that is queued, now. */
  flush(): void;
};

const openFileQueue = <T>(write: (item: T) => void): FileQueue<T> => {
  let queue: T[] = [];
  let next = 0;
  let scheduled = false;

  const writeUntil = (deadline: number): void => {
    while (next < queue.length && performance.now() < deadline) write(queue[next++]!);
    if (next < queue.length) return;
    queue = [];
    next = 0;
  };
  const writeSlice = (): void => {
    scheduled = false;
    writeUntil(performance.now() + sliceMs);
    schedule();
  };
  const schedule = (): void => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(writeSlice);
  };
  const flush = (): void => writeUntil(Infinity);

  return {
    add(items) {
      for (const item of items) queue.push(item);
      if (queue.length - next > queuedMax) flush();
      schedule();
    },
    flush,
  };
};

const { folder, instance, busyTimeoutMs, build, faults, task } = workerData as WorkerSetup;
const self = { ...thisProcess(), instance };
const selfNow = (): RunOwner => ({ ...self, since: Date.now() });
const folds = new Map<RunId, StepFold>();

const committer = openCommitter({
  connect: () =>
    connectSqlite(folder, { busyTimeoutMs, build, pagesMax: faults.pagesMax, self: selfNow(), owners: processOwners }),
  exists: () => existsSync(databasePath(folder)),
  self: selfNow,
  owners: processOwners,
  beforeCommit(transaction) {
    if (faults.failTransactions?.includes(transaction) === true) throw new Error('disk I/O error (injected)');
    if (faults.dieAt === transaction) process.exit(1);
  },
});

const files = openFileQueue<Frame | { readonly released: RunId }>((item) => {
  if (!('released' in item)) return projectFrame(item);
  folds.delete(item.released);
  forgetFolders(item.released);
});

const projectFrame = (frame: Frame): void => {
  try {
    const fold = folds.get(frame.run) ?? foldUpTo(frame);
    folds.set(frame.run, fold);
    for (const file of fold(frame)) writeFile(frame.run, file);
  } catch {
    // The log has the content: `rebuild` recreates the files.
  }
};

/** The run may have been started by another process, which may have died before it wrote its files: they are written again. */
const foldUpTo = (frame: Frame): StepFold => {
  const fold = openStepFold();
  if (frame.no === 0) return fold;
  const earlier = new Map<string, StepFile>();
  for (const body of committer.connection()?.bodies(frame.run, frame.no) ?? [])
    for (const file of fold(JSON.parse(body) as Frame)) earlier.set(`${file.cell}/${file.folder}/${file.name}`, file);
  for (const file of earlier.values()) writeFile(frame.run, file);
  return fold;
};

const writeFile = (run: RunId, file: StepFile): void => {
  const { content } = file;
  const bytes = typeof content === 'string' ? content : committer.connection()?.blob(content.ref);
  if (bytes !== undefined) writeStepFile(folder, run, { ...file, content: bytes });
};

const endOfTask = (one: LifeCycleTask): TaskEnd => {
  try {
    return { value: runLifeCycleTask(one, { folder, build, busyTimeoutMs }) };
  } catch (error) {
    const { code, detail = '' } = storeError(error).failure;
    return { failure: { code, detail } };
  }
};

if (task !== undefined) parentPort?.postMessage(endOfTask(task), []);
else
  parentPort?.on('message', (message: ToWorker) => {
    if (message.type === 'batch') {
      // Files of a deleted run must not be written once it is gone.
      if (message.items.some((item) => item.do === 'delete')) files.flush();
      const { ack, frames, released } = committer.commitBatch(message.items);
      parentPort?.postMessage(ack, []);
      files.add(frames);
      files.add(released.map((run) => ({ released: run })));
      return;
    }
    files.flush();
    committer.close();
    parentPort?.close();
  });
