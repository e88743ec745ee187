// The place of one run, which it can do without for a while.
//
//   L1. It is held once at most, however many wait for it.
//   L2. What needs the place is done in the moment in which it is there: nothing can give it back before.
import type { ReleaseSlot, SlotQueue, SlotRequest } from './slot-queue.ts';

export type RunSlot = {
  release(): void;
  /** At once, over the bounds if it must be. */
  reacquire(): void;
  /** Does something once it is held, and waits in line for it if it is not. Rejects like `Places.enter`, and with what `act` throws. */
  within<T>(act: () => T, signal?: AbortSignal): Promise<T>;
  /** Nobody needs it any more. */
  end(): void;
};

export const createRunSlot = (places: SlotQueue, seeking: SlotRequest, first: ReleaseSlot): RunSlot => {
  let held: ReleaseSlot | null = first;
  let isOver = false;
  const inLine = new Set<AbortController>();
  const isMissing = (): boolean => held === null && !isOver;
  const hold = (leave: ReleaseSlot): void => {
    if (isMissing()) held = leave;
    else leave();
    for (const other of inLine) other.abort();
  };
  const leave = (): void => {
    held?.();
    held = null;
  };
  /** Until it is held, by whomever. */
  const waitInLine = async (signal: AbortSignal | undefined): Promise<void> => {
    const mine = new AbortController();
    inLine.add(mine);
    try {
      const all = signal === undefined ? mine.signal : AbortSignal.any([signal, mine.signal]);
      const entered = places.acquire(seeking, all);
      const given = entered instanceof Promise ? await entered : entered;
      inLine.delete(mine);
      hold(given);
    } catch (error) {
      if (!mine.signal.aborted || signal?.aborted === true) throw error;
    } finally {
      inLine.delete(mine);
    }
  };
  return {
    release: leave,
    reacquire: () => {
      if (isMissing()) hold(places.reacquire(seeking));
    },
    within: async (act, signal) => {
      while (isMissing()) await waitInLine(signal);
      return act();
    },
    end: () => {
      isOver = true;
      leave();
      for (const one of inLine) one.abort();
    },
  };
};
