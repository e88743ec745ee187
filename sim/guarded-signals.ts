// What processes leave for each other in the store, as a simulated process sees it: signals, shared values, frames of others.
import type { RunCommand, Signal, Store } from '#contracts';
import type { PutSignal } from './history.ts';
import type { World } from './world.ts';

type Sender = { readonly no: number; readonly alive: boolean; readonly world: World };

/** Does the work as a call into the world, at which the process may crash. */
type Guarded = <T>(place: string, work: () => Promise<T> | T) => Promise<T>;

export const guardedSignals = (
  process: Sender,
  inner: Store,
  guarded: Guarded,
): Pick<
  Store,
  | 'putSignal'
  | 'signals'
  | 'removeSignal'
  | 'watchSignals'
  | 'follow'
  | 'readShared'
  | 'writeShared'
  | 'instance'
  | 'isLive'
> => {
  const { world } = process;
  return {
    putSignal: (signal) =>
      guarded('put signal', async () => {
        const put = noteSignal(process, signal);
        const isNew = await inner.putSignal(signal);
        if (process.alive) put.acknowledgedAt = world.now;
        return isNew;
      }),
    signals: (run) =>
      world.disk.signals().length === 0 ? inner.signals(run) : guarded('signals', () => inner.signals(run)),
    removeSignal: (run, id) =>
      guarded('remove signal', () => {
        const [at, wallClock, onDisk] = [world.now, world.wallClock(), world.disk.length(run)];
        world.signalRemovals.push({ process: process.no, run, id, at, wallClock, onDisk });
        return inner.removeSignal(run, id);
      }),
    watchSignals: (listener) => inner.watchSignals(listener),
    follow: (run, from) => inner.follow(run, from),
    readShared: (key) => guarded('read shared', () => inner.readShared(key)),
    writeShared: (key, value, version) => guarded('write shared', () => inner.writeShared(key, value, version)),
    instance: inner.instance,
    isLive: (instance) => inner.isLive(instance),
  };
};

const noteSignal = ({ no, world }: Sender, { run, id, body }: Signal): PutSignal => {
  const command = body['command'] as unknown as RunCommand;
  const put: PutSignal = { process: no, run, id, command, at: world.now, acknowledgedAt: null };
  world.signals.push(put);
  return put;
};
