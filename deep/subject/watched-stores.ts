// Stands where `#adapters/stores` stands in the bundle of the subject: the same stores, and every promise that the store
// makes is told to the witness before anyone can rely on it.
import { openSqliteStore as openUnwatched } from '#adapters/stores';
import type { SqliteOptions } from '#adapters/stores';
import type { RunLog, Store } from '#contracts';
import { aboutFrame, shaOf } from './witness.ts';
import type { Witness } from './witness.ts';

// Whatever else the folder gives, it gives here too.
export * from '#adapters/stores';

let watching: Witness | null = null;

/** Who is told of the stores that are opened from now on. */
export const tellOf = (witness: Witness): void => {
  watching = witness;
};

export const openSqliteStore = async (folder: string, options: SqliteOptions = {}) => {
  const store = await openUnwatched(folder, options);
  return watching === null ? store : watched(store, watching);
};

const watched = <S extends Store>(store: S, witness: Witness): S =>
  instead<Store>(store, {
    acquireRun: async (run) => watchedLog(run, await store.acquireRun(run), witness),
    putBlob: async (bytes) => {
      const ref = await store.putBlob(bytes);
      witness.tell({ saw: 'kept', ref });
      return ref;
    },
  }) as S;

const watchedLog = (run: string, log: RunLog, witness: Witness): RunLog => {
  let newest = -1;
  let acknowledged = -1;
  const acknowledge = (no: number): void => {
    if (no <= acknowledged) return;
    acknowledged = no;
    witness.tell({ saw: 'ack', run, no });
  };
  return instead<RunLog>(log, {
    append(frame) {
      newest = frame.no;
      const sha = shaOf(JSON.stringify(frame));
      witness.tell({ saw: 'append', run, no: frame.no, sha, about: aboutFrame(frame) });
      log.append(frame);
    },
    durable() {
      const upTo = newest;
      const promised = log.durable();
      if (promised === undefined) return acknowledge(upTo) as undefined;
      const told = promised.then(() => acknowledge(upTo));
      // As with the store's own: nobody has to listen.
      told.catch(() => undefined);
      return told;
    },
    async close() {
      const upTo = newest;
      await log.close();
      acknowledge(upTo);
    },
  });
};

/** The same object but for these methods, whatever it is made of. */
const instead = <T extends object>(original: T, methods: Partial<T>): T =>
  new Proxy(original, {
    get(target, name) {
      const own = methods[name as keyof T];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
