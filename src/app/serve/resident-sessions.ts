// Runs of residents: each holds a slot while it works, and none while all of its agents wait for messages.
//
//   resident-works-by-status. Whether a run works depends on the status of its agents, checked after every event.
//   resident-message-needs-slot. A message to a waiting run is delivered once the run has a slot again.
//   residents-bounded. The number of residents per caller is limited, because waiting ones use no slots.
import { CloisterError } from '#base';
import type { Caller, Clock, RunCommandName, RunSession, CancelTimer } from '#contracts';
import type { RunSlot } from './slot-queue.ts';

const [residentsMax, retryAfterMs, quietMs] = [64, 2_000, 250];

/** A resident run that is starting or running. */
export type ResidentRun = {
  /** Connects the run, which holds a slot. */
  attach(session: RunSession, slot: RunSlot): void;
  /** Does something that gives the run work, as soon as the run holds a slot. */
  withSlot<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Called when the run has ended or could not be started. */
  discard(): void;
};

export class ResidentSessions {
  /** By caller. */
  readonly #counts = new Map<string, number>();
  readonly #clock: Pick<Clock, 'timer'>;

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  /** Throws `server_busy`. */
  open({ name }: Caller): ResidentRun {
    const count = this.#counts.get(name) ?? 0;
    if (count >= residentsMax)
      throw new CloisterError(
        'server_busy',
        `${residentsMax} of your long-lived agents are running. Finish some of them first.`,
        {
          retryAfterMs,
        },
      );
    this.#counts.set(name, count + 1);
    let isOver = false;
    return createResident(this.#clock, () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#counts.get(name) ?? 0) - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    });
  }
}

const createResident = (clock: Pick<Clock, 'timer'>, discard: () => void): ResidentRun => {
  let attached: { readonly session: RunSession; readonly slot: RunSlot } | undefined;
  const updateSlot = (): void => {
    if (attached === undefined) return;
    const { session, slot } = attached;
    // No agents: the run has not started, or is about to end.
    const agents = session.agents();
    if (session.waitsForPeople) slot.release();
    else if (agents.some(({ status }) => status === 'running')) slot.reacquire();
    else if (agents.length > 0) slot.release();
  };
  return {
    attach: (session, slot) => {
      attached = { session, slot };
      void watch(session, clock, updateSlot);
      session.outcome.then(discard, discard);
    },
    withSlot: async (act, signal) => {
      if (attached === undefined) throw new CloisterError('defect', 'The run has not started.');
      return attached.slot.runWithSlot(async () => {
        try {
          return await act();
        } finally {
          // Perhaps no agent has started to work: a message may have no recipient, and a spawn may be refused.
          updateSlot();
        }
      }, signal);
    },
    discard,
  };
};

/** An agent that answers nobody starts to wait shortly after its last event, hence the timer. */
const watch = async (session: RunSession, clock: Pick<Clock, 'timer'>, updateSlot: () => void): Promise<void> => {
  let stop: CancelTimer | undefined;
  try {
    for await (const event of session) {
      if (!('id' in event)) continue;
      updateSlot();
      stop?.();
      stop = clock.timer(quietMs, updateSlot);
    }
  } catch {
    // The outcome reports why the run could not be recorded.
  } finally {
    stop?.();
  }
};

/** Asks a resident to finish. A cancelled one ends by itself. */
export const finishResident = (session: RunSession): void => {
  if (!session.resident) return;
  try {
    session.finish();
  } catch (error) {
    if (!(error instanceof CloisterError) || error.code !== 'cell_ended') throw error;
  }
};

/** Commands that an idle run needs a slot for. */
export const givesWork: Readonly<Record<RunCommandName, boolean>> = {
  send: true,
  spawn: true,
  'add-tasks': true,
  'add-context': false,
  'refresh-share': false,
  route: false,
  'forward-topic': false,
  confirm: false,
  finish: false,
  cancel: false,
  answer: false,
  'add-tools': false,
};
