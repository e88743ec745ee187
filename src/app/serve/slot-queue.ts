// Slots for runs: a limited number of running runs and of queued requests.
//
//   slot-first-come-first-served. Among requests whose agent and caller are below their limits.
//   slot-aborted-takes-none. An aborted request leaves the queue and never takes a slot.
import { CloisterError } from '#base';

export type SlotLimits = {
  /** Running runs: in total, and per agent. */
  readonly running: number;
  readonly runningPerAgent: number;
  /** For a caller whose token has no `running`. */
  readonly runningPerCaller?: number;
  /** Queued requests: in total, and per caller. */
  readonly waiting: number;
  readonly waitingPerCaller?: number;
};

const defaultSlotLimits: SlotLimits = { running: 16, runningPerAgent: 16, waiting: 64 };

/** With several callers, each gets at most half of the slots and of the queue, unless configured otherwise. */
export const slotLimitsFor = (
  given: Partial<SlotLimits>,
  callers: number,
): SlotLimits & { readonly runningPerCaller: number } => {
  const { running, waiting, ...rest } = { ...defaultSlotLimits, ...given };
  const share = (whole: number): number => (callers > 1 ? Math.ceil(whole / 2) : whole);
  return { waitingPerCaller: share(waiting), runningPerCaller: share(running), running, waiting, ...rest };
};

/** `callerMax`: how many running runs this caller may have. */
export type SlotRequest = { readonly agent: string; readonly caller: string; readonly callerMax: number };

/** Releases the slot; further calls do nothing. */
export type ReleaseSlot = () => void;

type QueuedRequest = SlotRequest & { admit(): void; refuse(error: CloisterError): void };

const retryAfterMs = 2_000;

export class SlotQueue {
  readonly #options: SlotLimits;
  readonly #agents = new Map<string, number>();
  readonly #callers = new Map<string, number>();
  readonly #queue = new Set<QueuedRequest>();
  /** Callers whose slots are all taken, on other servers too. */
  readonly #blocked = new Set<string>();
  #running = 0;
  #closed = false;

  /** Throws `options_invalid`. */
  constructor(options: SlotLimits) {
    for (const [name, value] of Object.entries(options)) {
      const least = name.startsWith('waiting') ? 0 : 1;
      if (!(value >= least)) throw new CloisterError('options_invalid', `slots.${name}: expected a number ≥ ${least}.`);
    }
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether it refuses everybody's next request. */
  get isFull(): boolean {
    return this.#running >= this.#options.running && this.#queue.size >= this.#options.waiting;
  }

  /**
   * Throws `server_busy` or `server_stopping`; rejects with `cancelled` when the signal aborts first. `isAdmitted`: for a run that was
   * admitted before, which waits also if the queue is full.
   */
  acquire(slotRequest: SlotRequest, signal?: AbortSignal, isAdmitted = false): ReleaseSlot | Promise<ReleaseSlot> {
    if (this.#closed) throw new CloisterError('server_stopping', undefined, { retryAfterMs });
    if (signal?.aborted === true) throw new CloisterError('cancelled');
    if (this.#hasRoom(slotRequest)) return this.#take(slotRequest);
    if (
      !isAdmitted &&
      (this.#queue.size >= this.#options.waiting ||
        this.#countQueued(slotRequest) >= (this.#options.waitingPerCaller ?? Infinity))
    )
      throw new CloisterError('server_busy', this.#ownLimit(slotRequest), { retryAfterMs });
    return this.#wait(slotRequest, signal);
  }

  /** For a run that released its slot for a while: returns a slot immediately, beyond the limits if necessary. */
  reacquire(slotRequest: SlotRequest): ReleaseSlot {
    return this.#take(slotRequest);
  }

  /** Until `unblock`, requests of this caller wait. */
  block(caller: string): void {
    this.#blocked.add(caller);
  }

  unblock(caller: string): void {
    if (this.#blocked.delete(caller)) this.#admitNext();
  }

  /** Like `acquire`, in front of all others: for a request that had its turn. */
  acquireFirst(slotRequest: SlotRequest, signal?: AbortSignal): ReleaseSlot | Promise<ReleaseSlot> {
    const others = [...this.#queue];
    const acquired = this.acquire(slotRequest, signal, true);
    for (const one of others) if (this.#queue.delete(one)) this.#queue.add(one);
    return acquired;
  }

  /** Refuses new and queued requests. */
  close(): void {
    this.#closed = true;
    for (const one of this.#queue) one.refuse(new CloisterError('server_stopping', undefined, { retryAfterMs }));
    this.#queue.clear();
  }

  #wait(slotRequest: SlotRequest, signal: AbortSignal | undefined): Promise<ReleaseSlot> {
    return new Promise((resolve, reject) => {
      const leaveQueue = (): void => {
        this.#queue.delete(waiting);
        signal?.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        leaveQueue();
        reject(new CloisterError('cancelled'));
      };
      const waiting: QueuedRequest = {
        ...slotRequest,
        admit: () => {
          leaveQueue();
          resolve(this.#take(slotRequest));
        },
        refuse: (error) => {
          leaveQueue();
          reject(error);
        },
      };
      this.#queue.add(waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** For a caller that keeps itself from being served: runs that it left running count too. Others' runs are not told. */
  #ownLimit({ caller, callerMax }: SlotRequest): string | undefined {
    if ((this.#callers.get(caller) ?? 0) < callerMax) return undefined;
    const count = callerMax === 1 ? '1 run at a time, and it is' : `${callerMax} runs at a time, and they are`;
    return `You may have ${count} running; runs that nobody waits for count too. Wait for one to end, or cancel one.`;
  }

  #countQueued({ caller }: SlotRequest): number {
    let count = 0;
    for (const one of this.#queue) if (one.caller === caller) count += 1;
    return count;
  }

  #hasRoom({ agent, caller, callerMax }: SlotRequest): boolean {
    const { running, runningPerAgent } = this.#options;
    return (
      !this.#blocked.has(caller) &&
      this.#running < running &&
      (this.#agents.get(agent) ?? 0) < runningPerAgent &&
      /* probe: slots-of-caller */ (this.#callers.get(caller) ?? 0) < callerMax
    );
  }

  #take({ agent, caller }: SlotRequest): ReleaseSlot {
    this.#running += 1;
    add(this.#agents, agent, 1);
    add(this.#callers, caller, 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#running -= 1;
      add(this.#agents, agent, -1);
      add(this.#callers, caller, -1);
      this.#admitNext();
    };
  }

  #admitNext(): void {
    for (const waiting of this.#queue) {
      if (this.#running >= this.#options.running) return;
      if (this.#hasRoom(waiting)) waiting.admit();
    }
  }
}

const add = (counts: Map<string, number>, name: string, by: number): void => {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
};

// The slot of one run, which it can release for a while.
//
//   slot-held-once. However many requests wait for it.
//   slot-work-synchronous. Work that needs the slot runs synchronously once the slot is held, so that nothing can release it
//       in between.

/** Where a run gets its slot again. */
type SlotSource<R> = {
  acquire(request: R, signal?: AbortSignal, isAdmitted?: boolean): ReleaseSlot | Promise<ReleaseSlot>;
  reacquire(request: R): ReleaseSlot;
};

export type RunSlot = {
  release(): void;
  /** Immediately, beyond the limits if necessary. */
  reacquire(): void;
  /**
   * Runs `act` once the slot is held; queues for it if necessary, with `isAdmitted` also if the queue is full. Rejects like
   * `SlotQueue.acquire`, or with what `act` throws.
   */
  runWithSlot<T>(act: () => T, signal?: AbortSignal, isAdmitted?: boolean): Promise<T>;
  /** The slot is no longer needed. */
  close(): void;
};

export const createRunSlot = <R extends SlotRequest>(queue: SlotSource<R>, request: R, first: ReleaseSlot): RunSlot => {
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
  const waitForSlot = async (signal: AbortSignal | undefined, isAdmitted: boolean): Promise<void> => {
    const mine = new AbortController();
    queued.add(mine);
    try {
      const all = signal === undefined ? mine.signal : AbortSignal.any([signal, mine.signal]);
      const acquired = queue.acquire(request, all, isAdmitted);
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
    runWithSlot: async (act, signal, isAdmitted = false) => {
      while (isMissing()) await waitForSlot(signal, isAdmitted);
      return act();
    },
    close: () => {
      isClosed = true;
      release();
      for (const one of queued) one.abort();
    },
  };
};
