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
  StoreConnection,
  FrameRow,
  LogRows,
  LogStore,
  RunOwner,
  RunFacts,
  SignalRow,
  Tables,
  Tail,
  Thread,
  ThreadListener,
} from '#testing/adapters/stores';
import { CloisterError } from '#base';
import type { RunId } from '#base';

type State = {
  readonly frames: Map<RunId, readonly FrameRow[]>;
  readonly blobs: Map<string, Uint8Array>;
  readonly owners: Map<RunId, RunOwner>;
  readonly runs: Map<RunId, { readonly facts: RunFacts; readonly end: Tail }>;
  readonly book: FrameRow[];
  readonly signals: readonly SignalRow[];
};

type Writable = Omit<State, 'signals'> & { signals: State['signals'] };

/** What is durable. */
export type MapDisk = { state: State; readonly living: Set<number>; readonly watchers: Set<() => void> };

export const newMapDisk = (): MapDisk => ({
  state: { frames: new Map(), blobs: new Map(), owners: new Map(), runs: new Map(), book: [], signals: [] },
  living: new Set(),
  watchers: new Set(),
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
};

let processes = 0;

/** A store as in a separate process. */
export const openMapStore = (disk: MapDisk, options: MapStoreOptions = {}): MapStore => {
  const pid = ++processes;
  disk.living.add(pid);
  const owners = { isAlive: (owner: RunOwner) => disk.living.has(owner.pid), describe: describeOwner };
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
            const { ack } = committer.commitBatch(message.items);
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
    rebuild: async () => 0,
    now: () => 1000,
    watchSignals: (notify) => {
      const watcher = (): void => later(notify);
      disk.watchers.add(watcher);
      return () => void disk.watchers.delete(watcher);
    },
  });
  return { ...store, kill: () => void disk.living.delete(pid) };
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
      const { frames, blobs, owners, runs, book, signals } = disk.state;
      draft = {
        frames: new Map(frames),
        blobs: new Map(blobs),
        owners: new Map(owners),
        runs: new Map(runs),
        book: [...book],
        signals,
      };
    },
    commit() {
      commit(() => {
        const hasMore = open().signals.length > disk.state.signals.length;
        disk.state = open();
        if (hasMore) for (const watcher of disk.watchers) watcher();
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
  putBlob: (ref, bytes) => void state().blobs.set(ref, bytes),
  owner: (run) => state().owners.get(run),
  setOwner: (run, owner) => void state().owners.set(run, owner),
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
});

const mapRows = (disk: MapDisk): LogRows => ({
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
  signals: (run) => disk.state.signals.filter((one) => run === undefined || one.run === run),
  close: () => {},
});
