// The thread that writes. It is handed batches and answers each with one acknowledgement.
//
//   W1. A batch is one transaction, and it is acknowledged only after the sync.
//   W2. A batch that fails leaves nothing behind; the next one starts from a fresh connection.
//   W3. Files for people are written after the acknowledgement, and their failure never reaches a run.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import type { Tail } from './chain.ts';
import { databasePath, openForWriting, storeError } from './database.ts';
import type { Ack, Item, ToWorker, WorkerSetup } from './messages.ts';
import { thisProcess } from './owners.ts';
import { blobOf } from './reader.ts';
import { openFileQueue } from './file-queue.ts';
import { forgetFolders, openStepFold, writeStepFile } from './step-files.ts';
import type { StepFile, StepFold } from './step-files.ts';
import { applyItems, prepareStatements } from './tables.ts';
import type { Applied, Statements } from './tables.ts';

type Connection = { readonly database: DatabaseSync; readonly statements: Statements; readonly inode: number };

const { folder, instance, busyTimeoutMs, faults } = workerData as WorkerSetup;
const self = { ...thisProcess(), instance };
const tails = new Map<RunId, Tail>();
const folds = new Map<RunId, StepFold>();
let connection: Connection | undefined;
let transactions = 0;

const takeBatch = (items: readonly Item[], answer: (ack: Ack) => void): void => {
  transactions += 1;
  let applied: Applied;
  try {
    applied = writeBatch(items);
  } catch (error) {
    const { code, detail = '' } = storeError(error).failure;
    disconnect();
    tails.clear();
    answer({ failure: { code, detail }, refused: [], broken: [], transactions });
    return;
  }
  const { refused, broken, released } = applied;
  const ack: Ack = { failure: null, refused, broken, transactions };
  answer(ack);
  files.add(applied.frames);
  files.add(released.map((run) => ({ released: run })));
  for (const run of released) tails.delete(run);
};

const writeBatch = (items: readonly Item[]): Applied => {
  connection ??= connect();
  const { database, statements, inode } = connection;
  database.exec('BEGIN IMMEDIATE');
  const applied = applyItems(statements, items, { tails, self: { ...self, since: Date.now() } });
  if (faults.failTransactions?.includes(transactions) === true) throw new Error('disk I/O error (injected)');
  if (faults.dieAt === transactions) process.exit(1);
  database.exec('COMMIT');
  // A removed file takes writes as before, and they are lost.
  if (statSync(databasePath(folder), { throwIfNoEntry: false })?.ino !== inode) {
    throw new CloisterError('store_failed', 'cloister.db was removed or replaced.');
  }
  for (const [run, tail] of applied.tails) tails.set(run, tail);
  return applied;
};

const connect = (): Connection => {
  const database = openForWriting(folder, busyTimeoutMs);
  if (faults.pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${faults.pagesMax}`);
  return { database, statements: prepareStatements(database), inode: statSync(databasePath(folder)).ino };
};

/** Also rolls back whatever is open. */
const disconnect = (): void => {
  try {
    connection?.database.close();
  } catch {
    // The connection is given up either way.
  }
  connection = undefined;
};

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
    // The log has it: `rebuild` makes the files again.
  }
};

/** A run that another process began: its open steps are in the log. */
const foldUpTo = (frame: Frame): StepFold => {
  const fold = openStepFold();
  if (frame.no === 0) return fold;
  for (const { body } of connection?.statements.bodies.iterate(frame.run, frame.no) ?? []) {
    fold(JSON.parse(String(body)) as Frame);
  }
  return fold;
};

const writeFile = (run: RunId, file: StepFile): void => {
  const { content } = file;
  const bytes = typeof content === 'string' ? content : connection && blobOf(connection.database, content.ref);
  if (bytes !== undefined) writeStepFile(folder, run, { ...file, content: bytes });
};

const close = (): void => {
  files.flush();
  try {
    connection?.statements.releaseAll.run(instance);
  } catch {
    // The rows name a store that is gone; they go when the process has.
  }
  disconnect();
  parentPort?.close();
};

parentPort?.on('message', (message: ToWorker) => {
  if (message.type === 'close') close();
  else takeBatch(message.items, (ack) => parentPort?.postMessage(ack, []));
});
