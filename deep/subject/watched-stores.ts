// Replaces `#adapters/stores` in the subject's bundle: the same stores, but every promise of the store is recorded by the
// witness before anyone can rely on it.
import { openSqliteStore as openUnwatched } from '#adapters/stores';
import type { RunLog, Store } from '#contracts';
import { aboutFrame, shaOf } from './witness.ts';
import type { Witness } from './witness.ts';

// Re-exports everything else unchanged.
export * from '#adapters/stores';

let watching: Witness | null = null;

/** Sets the witness for stores that are opened from now on. */
export const watchStoresWith = (witness: Witness): void => {
  watching = witness;
};

export const openSqliteStore = async (folder: string, options: Parameters<typeof openUnwatched>[1] = {}) => {
  const store = await openUnwatched(folder, options);
  return watching === null ? store : watched(store, watching);
};

const watched = <S extends Store>(store: S, witness: Witness): S =>
  override<Store>(store, {
    acquireRun: async (run) => watchedLog(run, await store.acquireRun(run), witness),
    putBlob: async (bytes) => {
      const ref = await store.putBlob(bytes);
      witness.record({ saw: 'kept', ref });
      return ref;
    },
  }) as S;

const watchedLog = (run: string, log: RunLog, witness: Witness): RunLog => {
  let newest = -1;
  let acknowledged = -1;
  const acknowledge = (no: number): void => {
    if (no <= acknowledged) return;
    acknowledged = no;
    witness.record({ saw: 'ack', run, no });
  };
  return override<RunLog>(log, {
    append(frame) {
      newest = frame.no;
      const sha = shaOf(JSON.stringify(frame));
      witness.record({ saw: 'append', run, no: frame.no, sha, about: aboutFrame(frame) });
      log.append(frame);
    },
    durable() {
      const upTo = newest;
      const promised = log.durable();
      if (promised === undefined) return acknowledge(upTo) as undefined;
      const acknowledgement = promised.then(() => acknowledge(upTo));
      // As in the store itself: nobody has to await it.
      acknowledgement.catch(() => undefined);
      return acknowledgement;
    },
    async close() {
      const upTo = newest;
      await log.close();
      acknowledge(upTo);
    },
  });
};

/** The same object with these methods replaced, whatever its class. */
const override = <T extends object>(original: T, methods: Partial<T>): T =>
  new Proxy(original, {
    get(target, name) {
      const own = methods[name as keyof T];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
