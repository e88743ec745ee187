// Commits batches one at a time, over any implementation of the tables.
//
//   commit-noted-before-acknowledged. A batch is one transaction. It is acknowledged only after its commit was recorded in the
//       heads file.
//   batch-failure-leaves-nothing. A failed batch leaves nothing behind; the next one uses a new connection.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import type { Ack, Item } from './messages.ts';
import type { RunOwner, Owners } from './processes.ts';
import { storeError } from './store-error.ts';
import { applyItems } from './tables.ts';
import type { AppliedBatch, Tables } from './tables.ts';

export type StoreConnection = {
  readonly tables: Tables;
  /** Called before `begin` with the items of the transaction: whatever needs no turn is done here, because others wait for the rest. */
  prepare?(items: readonly Item[]): void;
  /** Waits for other writers; throws when that takes too long. */
  begin(): void;
  /** Returns once everything written since `begin` is durable. Throws when it is not, or when that is unknown. */
  commit(): void;
  /** Checked after a commit: a file that was removed or replaced still accepts writes, but they are lost. */
  isInPlace(): boolean;
  /** Called after a commit: records the new tails of runs outside the tables. If it throws, the batch has failed. */
  recordTails?(tails: ReadonlyMap<RunId, Tail>): void;
  /** The newest frame of a run that any store has recorded. */
  readonly acknowledgedTail?: (run: RunId) => Tail | undefined;
  /** Called before the last `close`: removes heads that are no longer needed. Never throws. */
  pruneHeads?(): void;
  /** Rolls back what was not committed. */
  close(): void;
};

export type CommitterPorts<C extends StoreConnection> = {
  /** Creates what is missing. */
  connect(): C;
  /** Whether the database exists, so that closing does not create one. Assumed true by default. */
  exists?(): boolean;
  /** The owner to record for a run that is acquired now. */
  self(): RunOwner;
  readonly owners: Owners;
  /** Called with the number of each transaction, counted from 1, just before it commits. It may throw. */
  beforeCommit?(transaction: number): void;
};

type Committer = {
  /** Never throws. */
  commitBatch(items: readonly Item[]): Ack;
  /** Releases every run that is still owned. */
  close(): void;
};

export const openCommitter = <C extends StoreConnection>(ports: CommitterPorts<C>): Committer => {
  const tails = new Map<RunId, Tail>();
  let connection: C | undefined;
  let transactions = 0;

  const disconnect = (): void => {
    try {
      connection?.close();
    } catch {
      // The connection is abandoned either way.
    }
    connection = undefined;
    tails.clear();
  };
  const write = (items: readonly Item[]): AppliedBatch => {
    connection ??= ports.connect();
    connection.prepare?.(items);
    connection.begin();
    const { tables, acknowledgedTail } = connection;
    const state = {
      tails,
      self: ports.self(),
      owners: ports.owners,
      ...(acknowledgedTail === undefined ? {} : { acknowledgedTail }),
    };
    const applied = applyItems(tables, items, state);
    ports.beforeCommit?.(transactions);
    connection.commit();
    if (!connection.isInPlace()) throw new CloisterError('store_failed', 'cloister.db was removed or replaced.');
    connection.recordTails?.(applied.tails);
    return applied;
  };
  /** If it fails permanently, owner rows name a closed store; they count while its process is alive. */
  const releaseAll = (): boolean => {
    try {
      if (connection === undefined && ports.exists?.() === false) return true;
      connection ??= ports.connect();
      connection.begin();
      connection.tables.releaseAll(ports.self().instance);
      connection.commit();
      connection.pruneHeads?.();
      return true;
    } catch (error) {
      // It has already waited for the timeout; do not retry.
      return storeError(error).code === 'store_busy';
    } finally {
      disconnect();
    }
  };

  return {
    commitBatch(items) {
      transactions += 1;
      try {
        const applied = write(items);
        for (const [run, tail] of applied.tails) tails.set(run, tail);
        for (const run of applied.released) tails.delete(run);
        return { failure: null, refused: applied.refused, broken: applied.broken, ...ackLists(applied), transactions };
      } catch (error) {
        const { code, detail = '' } = storeError(error).failure;
        disconnect();
        return { /* probe: commit-failed */ failure: { code, detail }, refused: [], broken: [], transactions };
      }
    },
    close() {
      // Tried twice: the current connection may be broken.
      if (!releaseAll()) releaseAll();
    },
  };
};

/** What an acknowledgement has only if the batch had some. */
const ackLists = ({ owned, records, signals, shared, changes }: AppliedBatch): Partial<Ack> => ({
  ...(owned.length === 0 ? {} : { owned }),
  ...(records.length === 0 ? {} : { records }),
  ...(signals.length === 0 ? {} : { signals }),
  ...(shared.length === 0 ? {} : { shared }),
  ...(changes.length === 0 ? {} : { changes }),
});
