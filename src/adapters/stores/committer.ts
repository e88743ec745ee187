// Commits batches, one after the other, over whatever keeps the tables.
//
//   W1. A batch is one transaction, and it is acknowledged only after its commit, and after that was noted.
//   W2. A batch that fails leaves nothing behind; the next one starts from a fresh connection.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import type { Tail } from './chain.ts';
import type { Ack, Item } from './messages.ts';
import type { RunOwner, Owners } from './owner.ts';
import { storeError } from './store-error.ts';
import { applyItems } from './tables.ts';
import type { AppliedBatch, Tables } from './tables.ts';

export type StoreConnection = {
  readonly tables: Tables;
  /** Waits for others that write; throws when that takes too long. */
  begin(): void;
  /** Returns once what was written since `begin` is durable. Throws when it is not, or when that cannot be told. */
  commit(): void;
  /** Asked after a commit. A file that was removed or replaced takes writes as before, and they are lost. */
  stillThere(): boolean;
  /** Asked after a commit: notes where runs end now, apart from the tables. When it throws, the batch has failed. */
  note?(ends: ReadonlyMap<RunId, Tail>): void;
  /** The newest frame of a run that was noted, by anyone. */
  readonly noted?: (run: RunId) => Tail | undefined;
  /** Before the last `close`: removes notes that are not needed any more. Never throws. */
  settle?(): void;
  /** Takes back what was not committed. */
  close(): void;
};

export type CommitterPorts<C extends StoreConnection> = {
  /** Makes what is missing. */
  connect(): C;
  /** Whether there is something to connect to: without it, closing makes nothing. Taken to be so by default. */
  exists?(): boolean;
  /** What is written for a run that is owned now. */
  self(): RunOwner;
  readonly owners: Owners;
  /** Called with the number of each transaction, counted from 1, when all but its commit is done. It may throw. */
  beforeCommit?(transaction: number): void;
};

/** What was committed, for those who make something of it; nothing when the batch failed. */
export type CommitResult = {
  readonly ack: Ack;
  readonly frames: readonly Frame[];
  readonly released: readonly RunId[];
};

export type Committer<C extends StoreConnection> = {
  /** Never throws. */
  take(items: readonly Item[]): CommitResult;
  /** The one that the last batch was written through, if it was. */
  connection(): C | undefined;
  /** Gives back every run that is still owned. */
  close(): void;
};

export const openCommitter = <C extends StoreConnection>(ports: CommitterPorts<C>): Committer<C> => {
  const tails = new Map<RunId, Tail>();
  let connection: C | undefined;
  let transactions = 0;

  const disconnect = (): void => {
    try {
      connection?.close();
    } catch {
      // The connection is given up either way.
    }
    connection = undefined;
    tails.clear();
  };
  const write = (items: readonly Item[]): AppliedBatch => {
    connection ??= ports.connect();
    connection.begin();
    const { tables, noted } = connection;
    const known = { tails, self: ports.self(), owners: ports.owners, ...(noted === undefined ? {} : { noted }) };
    const applied = applyItems(tables, items, known);
    ports.beforeCommit?.(transactions);
    connection.commit();
    if (!connection.stillThere()) throw new CloisterError('store_failed', 'cloister.db was removed or replaced.');
    connection.note?.(applied.tails);
    return applied;
  };
  /** When it fails for good, rows name a store that is gone; they count as long as its process lives. */
  const releaseAll = (): boolean => {
    try {
      if (connection === undefined && ports.exists?.() === false) return true;
      connection ??= ports.connect();
      connection.begin();
      connection.tables.releaseAll(ports.self().instance);
      connection.commit();
      connection.settle?.();
      return true;
    } catch (error) {
      // It has waited long enough.
      return storeError(error).code === 'store_busy';
    } finally {
      disconnect();
    }
  };

  return {
    take(items) {
      transactions += 1;
      try {
        const { tails: ends, frames, released, refused, broken, pages } = write(items);
        for (const [run, tail] of ends) tails.set(run, tail);
        for (const run of released) tails.delete(run);
        const noted = pages.length === 0 ? {} : { pages };
        return { ack: { failure: null, refused, broken, ...noted, transactions }, frames, released };
      } catch (error) {
        const { code, detail = '' } = storeError(error).failure;
        disconnect();
        const ack = { /* probe: commit-failed */ failure: { code, detail }, refused: [], broken: [], transactions };
        return { ack, frames: [], released: [] };
      }
    },
    connection: () => connection,
    close() {
      // Twice: the connection may be one that fails, or that failed before.
      if (!releaseAll()) releaseAll();
    },
  };
};
