// Runs that live on: each holds a place while it works, and none while all of its agents wait for mail.
//
//   D1. Whether it works is what its agents say, looked at whenever something has happened in it.
//   D2. What is written to one that waits is handed over when it has a place again.
//   D3. So many of a caller live at a time, for those that wait take no place from anybody.
import { CloisterError } from '#base';
import type { Caller, Clock, RunSession, CancelTimer } from '#contracts';
import type { RunSlot } from './run-slot.ts';

const [livingMax, retryAfterMs, quietMs] = [64, 2_000, 250];

/** One that is being begun, or lives. */
export type ResidentRun = {
  /** The run itself, which has a place. */
  attach(session: RunSession, place: RunSlot): void;
  /** Writes to it, in its turn. */
  write(send: () => string, signal?: AbortSignal): Promise<string>;
  /** It has ended, or could not be begun. */
  drop(): void;
};

export class ResidentSessions {
  /** By their callers. */
  readonly #living = new Map<string, number>();
  readonly #clock: Pick<Clock, 'timer'>;

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  /** Throws `server_busy`. */
  open({ name }: Caller): ResidentRun {
    const living = this.#living.get(name) ?? 0;
    if (living >= livingMax)
      throw new CloisterError('server_busy', `${livingMax} residents of yours live: ask some of them to finish.`, {
        retryAfterMs,
      });
    this.#living.set(name, living + 1);
    let isOver = false;
    return residentOf(this.#clock, () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#living.get(name) ?? 0) - 1;
      if (left === 0) this.#living.delete(name);
      else this.#living.set(name, left);
    });
  }
}

const residentOf = (clock: Pick<Clock, 'timer'>, drop: () => void): ResidentRun => {
  let attached: { readonly session: RunSession; readonly place: RunSlot } | undefined;
  const look = (): void => {
    if (attached === undefined) return;
    const { session, place } = attached;
    // None: it has not begun, or is on its way out.
    const agents = session.agents();
    if (agents.some(({ status }) => status === 'running')) place.reacquire();
    else if (agents.length > 0) place.release();
  };
  return {
    attach: (session, place) => {
      attached = { session, place };
      void watch(session, clock, look);
      session.outcome.then(drop, drop);
    },
    write: async (send, signal) => {
      if (attached === undefined) throw new CloisterError('defect', 'It has not begun.');
      return attached.place.within(() => {
        try {
          return send();
        } finally {
          // It may be for nobody that is there.
          look();
        }
      }, signal);
    },
    drop,
  };
};

/** An agent that answers nobody comes to wait a moment after the last event that tells of it. */
const watch = async (session: RunSession, clock: Pick<Clock, 'timer'>, look: () => void): Promise<void> => {
  let stop: CancelTimer | undefined;
  try {
    for await (const event of session) {
      if (!('id' in event)) continue;
      look();
      stop?.();
      stop = clock.timer(quietMs, look);
    }
  } catch {
    // Why it could not be recorded is told with its outcome.
  } finally {
    stop?.();
  }
};

/** One that lives on comes to its end. One that was cancelled is on its way out by itself. */
export const finishResident = (session: RunSession): void => {
  if (!session.resident) return;
  try {
    session.finish();
  } catch (error) {
    if (!(error instanceof CloisterError) || error.code !== 'cell_ended') throw error;
  }
};
