// The smallest disk that a store can use: maps that a commit replaces. It shows what the ports require.
import {
  addFacts,
  selectRuns,
  openCommitter,
  openLogReader,
  openLogStore,
  describeOwner,
} from '#testing/adapters/stores';
import type {
  CommitterPorts,
  LeasePorts,
  LifeCyclePorts,
  StoreConnection,
  FrameRow,
  LogRows,
  LogStore,
  EpochOwner,
  RunOwner,
  SharedRow,
  SignalRow,
  Tables,
  Tail,
  Thread,
  ThreadListener,
} from '#testing/adapters/stores';
import type { RunFacts } from '#adapters/stores';
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import type { LiveChannel } from '#contracts';

type State = {
  readonly frames: Map<RunId, readonly FrameRow[]>;
  readonly blobs: Map<string, Uint8Array>;
  readonly owners: Map<RunId, EpochOwner>;
  readonly runs: Map<RunId, { readonly facts: RunFacts; readonly end: Tail }>;
  readonly book: FrameRow[];
  readonly signals: readonly SignalRow[];
  readonly shared: Map<string, SharedRow>;
  readonly deleted: Map<RunId, { readonly no: number; readonly pending: string | null }>;
  readonly loose: Set<string>;
};

type Writable = Omit<State, 'signals'> & { signals: State['signals'] };

/** What is durable. `leases`: until when, by instance, and how often a lease was found lapsed. */
export type MapDisk = {
  state: State;
  readonly living: Set<number>;
  readonly watchers: Set<() => void>;
  readonly frameWatchers: Set<() => void>;
  /** Those who listen to what is said live, with their store. */
  readonly listeners: Set<LiveListener>;
  readonly leases: Map<string, { readonly until: number; readonly lapses: number }>;
};

type LiveListener = { readonly pid: number; readonly run: RunId; hear(piece: JsonObject): void };

export const newMapDisk = (): MapDisk => ({
  state: {
    frames: new Map(),
    blobs: new Map(),
    owners: new Map(),
    runs: new Map(),
    book: [],
    signals: [],
    shared: new Map(),
    deleted: new Map(),
    loose: new Set(),
  },
  living: new Set(),
  watchers: new Set(),
  frameWatchers: new Set(),
  listeners: new Set(),
  leases: new Map(),
});

export type MapStore = LogStore & {
  /** The process is gone immediately: nothing more is written, and no answer comes. */
  kill(): void;
};

export type MapStoreOptions = Pick<CommitterPorts<StoreConnection>, 'beforeCommit'> & {
  /** Called for each `commit` of the disk: it may throw before or after the state is replaced. */
  readonly commit?: (replace: () => void) => void;
  /** Whether the thread dies when it receives this batch, counted from 1. */
  readonly dies?: (batch: number) => boolean;
  /** Owners are those whose lease has not lapsed. `answers`: resolves when a renewal may reach the disk; absent: at once. */
  readonly lease?: Pick<LeasePorts, 'now' | 'timer'> & { readonly answers?: () => Promise<void> };
};

let [processes, epochs] = [0, 0];

/** A store as in a separate process. */
export const openMapStore = (disk: MapDisk, options: MapStoreOptions = {}): MapStore => {
  const pid = ++processes;
  disk.living.add(pid);
  const { lease } = options;
  const isAlive = ({ pid: ofOwner, instance }: RunOwner): boolean =>
    lease === undefined ? disk.living.has(ofOwner) : lease.now() < (disk.leases.get(instance)?.until ?? 0);
  const owners = { isAlive, describe: describeOwner };
  const self = (): RunOwner => ({ pid, host: 'here', started: '', since: 1000 + pid, instance: `store-${pid}` });
  const alive = (): boolean => disk.living.has(pid);
  const later = (work: () => void): void => void setImmediate(() => alive() && work());

  let batches = 0;

  const startThread = (ears: ThreadListener): Thread => {
    const { beforeCommit } = options;
    const committer = openCommitter({
      connect: () => connectMaps(disk, options.commit),
      self,
      owners,
      ...(beforeCommit === undefined ? {} : { beforeCommit }),
    });
    return {
      post(message) {
        later(() => {
          if (message.type === 'batch') {
            if (options.dies?.(++batches) === true) return later(() => ears.ended('It died.'));
            const ack = committer.commitBatch(message.items);
            later(() => ears.acknowledge(ack));
            return;
          }
          committer.close();
          later(() => ears.ended('It was asked to.'));
        });
      },
      ref: () => {},
      unref: () => {},
    };
  };
  const store = openLogStore({
    kind: 'sqlite',
    path: null,
    reader: openLogReader(mapRows(disk), owners),
    startThread,
    defer: later,
    // Only what is written next tries again.
    later: () => undefined,
    rebuild: async () => ({ runs: 0, listed: [], files: 0, skipped: [] }),
    lifeCycle: mapLifeCycle(disk),
    now: () => 1000,
    watchFrames: (notify) => {
      const watcher = (): void => later(() => notify(null));
      disk.frameWatchers.add(watcher);
      return () => void disk.frameWatchers.delete(watcher);
    },
    live: mapLive(disk, pid),
    instance: self().instance,
    isLive: (instance) => [...disk.living].some((one) => instance === `store-${one}`),
    ...(lease === undefined ? {} : { lease: { ...lease, renew: () => renewLease(disk, `store-${pid}`, lease) } }),
    watchSignals: (notify) => {
      const watcher = (): void => later(notify);
      disk.watchers.add(watcher);
      return () => void disk.watchers.delete(watcher);
    },
  });
  return { ...store, kill: () => void disk.living.delete(pid) };
};

const mapLive = ({ listeners, living }: MapDisk, pid: number): LiveChannel => ({
  isFollowed: (run) => [...listeners].some((one) => one.run === run && one.pid !== pid && living.has(one.pid)),
  publish(run, piece) {
    for (const one of listeners)
      if (one.run === run && one.pid !== pid) setImmediate(() => living.has(one.pid) && one.hear(piece));
  },
  subscribe(run, listener) {
    const one = { pid, run, hear: (piece: JsonObject) => listeners.has(one) && listener(piece) };
    listeners.add(one);
    return () => void listeners.delete(one);
  },
});

const renewLease = async (
  disk: MapDisk,
  instance: string,
  { now, answers }: NonNullable<MapStoreOptions['lease']>,
): Promise<{ readonly lapses: number }> => {
  await answers?.();
  const { until = 0, lapses = 0 } = disk.leases.get(instance) ?? {};
  const renewed = { until: now() + 3000, lapses: now() < until ? lapses : lapses + 1 };
  disk.leases.set(instance, renewed);
  return renewed;
};

const connectMaps = (disk: MapDisk, commit = (replace: () => void): void => replace()): StoreConnection => {
  let draft: Writable | undefined;
  const open = (): Writable => {
    if (draft === undefined) throw new CloisterError('store_failed', 'There is no transaction.');
    return draft;
  };
  return {
    tables: mapTables(open),
    begin() {
      if (draft !== undefined) throw new CloisterError('store_failed', 'A transaction is open.');
      const { frames, blobs, owners, runs, book, signals, shared, deleted, loose } = disk.state;
      draft = {
        frames: new Map(frames),
        blobs: new Map(blobs),
        owners: new Map(owners),
        runs: new Map(runs),
        book: [...book],
        signals,
        shared: new Map(shared),
        deleted: new Map(deleted),
        loose: new Set(loose),
      };
    },
    commit() {
      commit(() => {
        const hasMore = open().signals.length > disk.state.signals.length;
        disk.state = open();
        if (hasMore) for (const watcher of disk.watchers) watcher();
        for (const watcher of disk.frameWatchers) watcher();
      });
      draft = undefined;
    },
    isInPlace: () => true,
    close: () => void (draft = undefined),
  };
};

const mapTables = (state: () => Writable): Tables => ({
  tail: (run) => state().frames.get(run)?.at(-1) as Tail | undefined,
  insertFrame(run, no, body, hash) {
    state().frames.set(run, [...(state().frames.get(run) ?? []), { no, body, hash }]);
  },
  putBlob(ref, bytes) {
    state().blobs.set(ref, bytes);
    state().loose.delete(ref);
  },
  recordOfDeletion: (run) => state().deleted.get(run)?.no,
  deleteRun(run, no, pending) {
    const { frames, blobs, owners, runs, deleted, loose, signals } = state();
    const text = (frames.get(run) ?? []).map(({ body }) => String(body)).join();
    for (const ref of blobs.keys()) if (text.includes(ref)) loose.add(ref);
    for (const map of [frames, owners, runs]) map.delete(run);
    state().signals = signals.filter((one) => one.run !== run);
    deleted.set(run, { no, pending });
  },
  loosenBlobs(refs) {
    for (const ref of refs) if (state().blobs.has(ref)) state().loose.add(ref);
  },
  undeleteRun: (run) => void state().deleted.delete(run),
  owner: (run) => state().owners.get(run),
  setOwner: (run, owner) => void state().owners.set(run, owner),
  nextEpoch: () => ++epochs,
  release(run, instance) {
    if (state().owners.get(run)?.instance === instance) state().owners.delete(run);
  },
  releaseAll(instance) {
    for (const [run, owner] of state().owners) if (owner.instance === instance) state().owners.delete(run);
  },
  updateRun(run, facts, end) {
    const kept = state().runs.get(run);
    state().runs.set(run, { facts: kept === undefined ? facts : addFacts(kept.facts, facts), end });
  },
  workspaceLogTail: () => state().book.at(-1) as Tail | undefined,
  insertRecord: (no, body, hash) => void state().book.push({ no, body, hash }),
  waitingSignals(run, id) {
    const ofRun = state().signals.filter((one) => one.run === run);
    return { count: ofRun.length, isKnown: ofRun.some((one) => one.id === id) };
  },
  insertSignal: (signal) => void (state().signals = [...state().signals, signal]),
  removeSignal: (run, id) => void (state().signals = state().signals.filter((one) => one.run !== run || one.id !== id)),
  sharedVersion: (key) => state().shared.get(key)?.version ?? 0,
  setShared: (key, row) => void state().shared.set(key, row),
});

const mapLifeCycle = (disk: MapDisk): LifeCyclePorts => ({
  pending: () => [...disk.state.deleted].flatMap(([run, { pending }]) => (pending === null ? [] : [{ run, pending }])),
  async finish(finished) {
    const { frames, blobs, loose, deleted } = disk.state;
    const text = [...frames.values()]
      .flat()
      .map(({ body }) => String(body))
      .join();
    const unused = [...loose].filter((ref) => !text.includes(ref));
    for (const ref of unused) blobs.delete(ref);
    loose.clear();
    for (const run of finished) deleted.set(run, { ...deleted.get(run)!, pending: null });
    return { bytesBefore: 0, bytesAfter: 0, blobs: unused.length, isFinished: true };
  },
  forkBodies: async () =>
    [...disk.state.frames.values()]
      .flat()
      .map(({ body }) => String(body))
      .filter((body) => body.includes('"fork"')),
  runBytes: () =>
    new Map(
      [...disk.state.frames].map(([run, rows]) => [
        run,
        rows.reduce((sum, { body }) => sum + Buffer.byteLength(String(body)), 0),
      ]),
    ),
  strayFolders: () => [],
  leftovers: async () => [],
});

const mapRows = (disk: MapDisk): LogRows => ({
  deletion: (run) => {
    const no = disk.state.deleted.get(run)?.no;
    return disk.state.book.find((row) => row.no === no)?.body as string | undefined;
  },
  check: () => {},
  log: (run, read) => read(disk.state.frames.get(run) ?? [], disk.state.runs.get(run)?.end),
  list: (which) =>
    selectRuns(
      [...disk.state.runs].map(([run, { facts }]) => ({ run, ...facts, owner: disk.state.owners.get(run) ?? null })),
      which,
    ),
  runs: () => [...disk.state.frames.keys()],
  tailAt(run, frames) {
    const rows = (disk.state.frames.get(run) ?? []) as readonly Tail[];
    return frames === undefined ? rows.at(-1) : rows[frames - 1];
  },
  workspaceLog: (from, read) =>
    read(
      disk.state.book.filter(({ no }) => Number(no) >= from),
      disk.state.book.at(-1) as Tail | undefined,
    ),
  blob: (ref) => disk.state.blobs.get(ref),
  shared: (key) => disk.state.shared.get(key),
  signals: (run) => disk.state.signals.filter((one) => run === undefined || one.run === run),
  close: () => {},
});
