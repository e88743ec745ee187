// The writer thread. It receives batches and answers each with one acknowledgement.
import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { openCommitter } from './committer.ts';
import { databasePath } from './database.ts';
import type { LifeCycleTask, TaskEnd, ToWorker, WorkerSetup } from './messages.ts';
import type { RunOwner } from './processes.ts';
import { processOwners, thisProcess } from './processes.ts';
import { connectSqlite } from './sqlite-connection.ts';
import { runLifeCycleTask } from './sqlite-deletions.ts';
import { storeError } from './store-error.ts';

const { folder, instance, busyTimeoutMs, build, faults, task } = workerData as WorkerSetup;
const self = { ...thisProcess(), instance };
const selfNow = (): RunOwner => ({ ...self, since: Date.now() });

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
      const ack = committer.commitBatch(message.items);
      parentPort?.postMessage(ack, []);
      return;
    }
    committer.close();
    parentPort?.close();
  });
