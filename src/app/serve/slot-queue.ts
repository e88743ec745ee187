// Places for runs: so many at once, so many in line, and no more.
//
//   P1. First come, first served, among those whose agent and caller have room.
//   P2. Who goes away leaves the line; nobody waits for a place that was given to somebody who has gone.
import { CloisterError } from '#base';

export type SlotQueueOptions = {
  /** Runs under way at once: in total, and of one agent. */
  readonly running: number;
  readonly runningPerAgent: number;
  /** Requests in line: in total, and of one caller. */
  readonly waiting: number;
  readonly waitingPerCaller?: number;
};

export const defaultSlotLimits: SlotQueueOptions = { running: 16, runningPerAgent: 16, waiting: 64 };

/** Where several may ask, one of them has half of everything at most, unless it is told otherwise. */
export const slotLimitsFor = (
  given: Partial<SlotQueueOptions>,
  callers: number,
): SlotQueueOptions & { readonly runningPerCaller: number } => {
  const { running, waiting, ...rest } = { ...defaultSlotLimits, ...given };
  const share = (whole: number): number => (callers > 1 ? Math.ceil(whole / 2) : whole);
  return { waitingPerCaller: share(waiting), runningPerCaller: share(running), running, waiting, ...rest };
};

/** `callerMax`: how many this caller may have under way. */
export type SlotRequest = { readonly agent: string; readonly caller: string; readonly callerMax: number };

/** Gives the place back; once. */
export type ReleaseSlot = () => void;

type Waiting = SlotRequest & { enter(): void; refuse(error: CloisterError): void };

const retryAfterMs = 2_000;

export class SlotQueue {
  readonly #options: SlotQueueOptions;
  readonly #agents = new Map<string, number>();
  readonly #callers = new Map<string, number>();
  readonly #line = new Set<Waiting>();
  #running = 0;
  #closed = false;

  /** Throws `options_invalid`. */
  constructor(options: SlotQueueOptions) {
    for (const [name, value] of Object.entries(options)) {
      const least = name.startsWith('waiting') ? 0 : 1;
      if (!(value >= least))
        throw new CloisterError('options_invalid', `places.${name}: expected a number, ${least} or more.`);
    }
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** Throws `server_busy` or `server_stopping`; rejects with `cancelled` when the signal comes first. */
  acquire(seeking: SlotRequest, signal?: AbortSignal): ReleaseSlot | Promise<ReleaseSlot> {
    if (this.#closed) throw new CloisterError('server_stopping', undefined, { retryAfterMs });
    if (signal?.aborted === true) throw new CloisterError('cancelled');
    if (this.#hasRoom(seeking)) return this.#take(seeking);
    if (
      this.#line.size >= this.#options.waiting ||
      this.#inLine(seeking) >= (this.#options.waitingPerCaller ?? Infinity)
    )
      throw new CloisterError('server_busy', undefined, { retryAfterMs });
    return this.#wait(seeking, signal);
  }

  /** For one that had a place and gave it back for a while: it is let in at once, over the bounds if it must be. */
  reacquire(seeking: SlotRequest): ReleaseSlot {
    return this.#take(seeking);
  }

  /** Nobody new is let in; who waits is sent away. */
  close(): void {
    this.#closed = true;
    for (const one of this.#line) one.refuse(new CloisterError('server_stopping', undefined, { retryAfterMs }));
    this.#line.clear();
  }

  #wait(seeking: SlotRequest, signal: AbortSignal | undefined): Promise<ReleaseSlot> {
    return new Promise((resolve, reject) => {
      const leaveLine = (): void => {
        this.#line.delete(waiting);
        signal?.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        leaveLine();
        reject(new CloisterError('cancelled'));
      };
      const waiting: Waiting = {
        ...seeking,
        enter: () => {
          leaveLine();
          resolve(this.#take(seeking));
        },
        refuse: (error) => {
          leaveLine();
          reject(error);
        },
      };
      this.#line.add(waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  #inLine({ caller }: SlotRequest): number {
    let count = 0;
    for (const one of this.#line) if (one.caller === caller) count += 1;
    return count;
  }

  #hasRoom({ agent, caller, callerMax }: SlotRequest): boolean {
    const { running, runningPerAgent } = this.#options;
    return (
      this.#running < running &&
      (this.#agents.get(agent) ?? 0) < runningPerAgent &&
      (this.#callers.get(caller) ?? 0) < callerMax
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
      this.#callNext();
    };
  }

  #callNext(): void {
    for (const waiting of this.#line) {
      if (this.#running >= this.#options.running) return;
      if (this.#hasRoom(waiting)) waiting.enter();
    }
  }
}

const add = (counts: Map<string, number>, name: string, by: number): void => {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
};
