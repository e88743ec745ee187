// The slot of one run, which it can release for a while.
//
//   slot-held-once. However many requests wait for it.
//   slot-work-synchronous. Work that needs the slot runs synchronously once the slot is held, so that nothing can release it
//       in between.
import type { ReleaseSlot, SlotQueue, SlotRequest } from './slot-queue.ts';

export type RunSlot = {
  release(): void;
  /** Immediately, beyond the limits if necessary. */
  reacquire(): void;
  /** Runs `act` once the slot is held; queues for it if necessary. Rejects like `SlotQueue.acquire`, or with what `act` throws. */
  runWithSlot<T>(act: () => T, signal?: AbortSignal): Promise<T>;
  /** The slot is no longer needed. */
  close(): void;
};

export const createRunSlot = (queue: SlotQueue, request: SlotRequest, first: ReleaseSlot): RunSlot => {
  let held: ReleaseSlot | null = first;
  let isClosed = false;
  const queued = new Set<AbortController>();
  const isMissing = (): boolean => held === null && !isClosed;
  const accept = (releaseSlot: ReleaseSlot): void => {
    if (isMissing()) held = releaseSlot;
    else releaseSlot();
    for (const other of queued) other.abort();
  };
  const release = (): void => {
    held?.();
    held = null;
  };
  /** Waits until the slot is held, through this or another waiting request. */
  const waitForSlot = async (signal: AbortSignal | undefined): Promise<void> => {
    const mine = new AbortController();
    queued.add(mine);
    try {
      const all = signal === undefined ? mine.signal : AbortSignal.any([signal, mine.signal]);
      const acquired = queue.acquire(request, all);
      const acquiredSlot = acquired instanceof Promise ? await acquired : acquired;
      queued.delete(mine);
      accept(acquiredSlot);
    } catch (error) {
      if (!mine.signal.aborted || signal?.aborted === true) throw error;
    } finally {
      queued.delete(mine);
    }
  };
  return {
    release,
    reacquire: () => {
      if (isMissing()) accept(queue.reacquire(request));
    },
    runWithSlot: async (act, signal) => {
      while (isMissing()) await waitForSlot(signal);
      return act();
    },
    close: () => {
      isClosed = true;
      release();
      for (const one of queued) one.abort();
    },
  };
};
