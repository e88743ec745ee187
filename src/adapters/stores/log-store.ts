// A store over a log that its own thread writes and any thread reads.
//
//   durable-after-commit. `durable` settles only after the commit of the batch that carries the newest frame, and `onCommit`
//       tells of no frame before its commit.
//   failed-batch-fails-its-runs. A failed batch permanently fails every run that had frames in it, but no other and no later
//       run.
//   store-created-by-first-write. Nothing is created before the first write.
import { CloisterError, sha256 } from '#base';
import type { RunId } from '#base';
import type { Frame, LiveChannel, LogPage, Store } from '#contracts';
import { ackError } from './durable-run-log.ts';
import { storeLifeCycle } from './life-cycle.ts';
import type { LifeCyclePorts } from './life-cycle.ts';
import { appendRefusal } from './workspace-log.ts';
import type { Tail } from './chain.ts';
import { joinPages } from './log-reader.ts';
import type { StoreReader } from './log-reader.ts';
import type { Item } from './messages.ts';
import { OwnedRuns } from './owned-runs.ts';
import type { OwnershipPorts } from './owned-runs.ts';
import type { Writer } from './writer.ts';
import { FrameFollowers } from './frame-followers.ts';
import type { WatchFrames } from './frame-followers.ts';
import { sharedRow } from './shared-values.ts';
import { isStored, SignalListeners, signalRow } from './signals.ts';

type LogStorePorts = OwnershipPorts & {
  readonly kind: Store['kind'];
  readonly path: string | null;
  readonly reader: StoreReader;
  readonly rebuild: Store['rebuild'];
  readonly lifeCycle: LifeCyclePorts;
  /** Calls back soon after any process may have stored signals. Returns a function that stops it. */
  watchSignals(notify: () => void): () => void;
  /** The same about frames of any process, and runs that were deleted. */
  readonly watchFrames: WatchFrames;
  readonly live?: LiveChannel;
  /** Names this process. */
  readonly instance: string;
  isLive(instance: string): boolean | Promise<boolean>;
  /** Clock for records of the workspace log. */
  now(): number;
};

export type LogStore = Store & {
  /** Number of transactions that its thread has attempted. */
  transactions(): number;
};

export const openLogStore = (ports: LogStorePorts): LogStore => {
  const { kind, path, reader } = ports;
  let closing: Promise<void> | undefined;
  const listeners = new SignalListeners((notify) => ports.watchSignals(notify));
  const followers = new FrameFollowers(ports.watchFrames, (run, from) => openNewerReader(openReader, run, from));
  let recordKeys = 0;

  const openReader = (): StoreReader => {
    if (closing !== undefined) throw new CloisterError('store_failed', 'The store is closed.');
    return reader;
  };
  const owned = new OwnedRuns(ports, { assertOpen: openReader, onCommit: (run) => followers.wake(run) });
  const { writer } = owned;
  const pause = async (): Promise<void> => {
    await new Promise<void>((resolve) => ports.defer(resolve));
    openReader();
  };
  const close = async (): Promise<void> => {
    listeners.close();
    followers.close();
    // The reader closes first: the last connection to close checkpoints the write-ahead log.
    const readerClosed = reader.close();
    await owned.close();
    if (readerClosed instanceof Promise) await readerClosed;
  };

  return {
    kind,
    path,
    acquireRun: (run, { takeOver = false } = {}) => owned.acquire(run, takeOver),
    ...storedFrames(openReader, pause),
    list: async (query) => openReader().list(query),
    async rebuild(...args) {
      openReader();
      return ports.rebuild(...args);
    },
    ...storedBlobs(writer, openReader),
    readWorkspaceLog: async () => openReader().readWorkspaceLog(),
    hashPrefix: async (run, frames) => openReader().hashPrefix(run, frames),
    async appendRecord(record, after) {
      openReader();
      const item = { do: 'record', key: recordKeys++, at: ports.now(), record: JSON.stringify(record) } as const;
      return commitRecord(writer, after === undefined ? item : { ...item, after });
    },
    ...storedSignals({ writer, listeners, openReader }),
    ...sharedState({ writer, openReader, followers, ports }),
    ...storeLifeCycle({ writer, openReader, ports, pause }),
    transactions: () => writer.transactions(),
    close: () => (closing ??= close()),
  };
};

/** `openReader` throws once the store is closed. */
const storedFrames = (
  openReader: () => StoreReader,
  pause: () => Promise<void>,
): Pick<Store, 'read' | 'inspect' | 'pages'> => {
  async function* pages(run: RunId): AsyncGenerator<LogPage, void, undefined> {
    yield* openReader().pages(run, pause);
  }
  return {
    async read(run) {
      const { frames, problems } = await joinPages(pages(run));
      if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
      return frames;
    },
    inspect: (run) => joinPages(pages(run)),
    pages,
  };
};

const storedBlobs = (writer: Writer, openReader: () => StoreReader): Pick<Store, 'putBlob' | 'getBlob'> => ({
  async putBlob(bytes) {
    openReader();
    const ref = sha256(bytes);
    const ack = await writer.add({ do: 'blob', ref, bytes: new Uint8Array(bytes) }).done;
    if (ack.failure !== null) throw ackError(ack);
    return ref;
  },
  getBlob: async (ref) => openReader().getBlob(ref),
});

const commitRecord = async (writer: Writer, item: Extract<Item, { do: 'record' }>): Promise<number> => {
  // probe: page-written
  const ack = await writer.add(item).done;
  const recordAck = ack.records?.find(({ key }) => key === item.key);
  if (ack.failure !== null || recordAck === undefined) throw ackError(ack);
  if ('refused' in recordAck) throw appendRefusal(recordAck.refused);
  return recordAck.no;
};

type SignalPorts = {
  readonly writer: Writer;
  readonly listeners: SignalListeners;
  readonly openReader: () => StoreReader;
};

/** `openReader` throws once the store is closed. */
const storedSignals = ({
  writer,
  listeners,
  openReader,
}: SignalPorts): Pick<Store, 'putSignal' | 'signals' | 'removeSignal' | 'watchSignals'> => {
  let keys = 0;
  return {
    async putSignal(given) {
      openReader();
      const [key, signal] = [keys++, signalRow(given)];
      const ack = await writer.add({ do: 'signal', key, signal }).done;
      const signalAck = ack.signals?.find((one) => one.key === key);
      if (ack.failure !== null || signalAck === undefined) throw ackError(ack);
      if (!isStored(signalAck.decision, signal.run)) return false;
      listeners.notify();
      return true;
    },
    signals: async (run) => openReader().signals(run),
    async removeSignal(run, id) {
      openReader();
      const ack = await writer.add({ do: 'remove-signal', run, id }).done;
      if (ack.failure !== null) throw ackError(ack);
    },
    watchSignals(listener) {
      openReader();
      return listeners.add(listener);
    },
  };
};

type SharedStatePorts = Omit<SignalPorts, 'listeners'> & {
  readonly followers: FrameFollowers;
  readonly ports: Pick<LogStorePorts, 'live' | 'instance' | 'isLive'>;
};

/** What processes of the store have in common. */
const sharedState = ({
  writer,
  openReader,
  followers,
  ports,
}: SharedStatePorts): Pick<Store, 'readShared' | 'writeShared' | 'follow' | 'live' | 'instance' | 'isLive'> => {
  let keys = 0;
  return {
    follow: followers.follow,
    ...(ports.live === undefined ? {} : { live: ports.live }),
    instance: ports.instance,
    isLive: async (instance) => ports.isLive(instance),
    readShared: async (key) => openReader().shared(key),
    async writeShared(name, value, version) {
      openReader();
      const [key, row] = [keys++, sharedRow(name, value, version)];
      const ack = await writer.add({ do: 'share', key, name, row }).done;
      const written = ack.shared?.find((one) => one.key === key);
      if (ack.failure !== null || written === undefined) throw ackError(ack);
      return written.isWritten;
    },
  };
};

/** `openReader` throws once the store is closed. */
const openNewerReader = (
  openReader: () => StoreReader,
  run: RunId,
  from: number,
): (() => Promise<readonly Frame[]>) => {
  let tail: Tail | undefined;
  let next = from;
  return async () => {
    const found = await openReader().newer(run, next, tail);
    tail = found.tail;
    next += found.frames.length;
    return found.frames;
  };
};
