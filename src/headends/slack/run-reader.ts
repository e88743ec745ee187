// Finds the run of a request, wherever it is, and reads its events.
import { CloisterError } from '#base';
import type { AgentService, Caller, Clock, RunEvent, ServedRun } from '#contracts';

type RunFinderPorts = {
  readonly service: Pick<AgentService, 'find' | 'resumeRun' | 'questions'>;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
};

/** `isLate`: live text may have been missed. */
export type FoundRun = { readonly served: ServedRun; readonly isLate: boolean };

const pollMs = 1_000;

/**
 * A run that exists: here, resumed here or, once it has ended, from its record. Waits while another process works on it. Rejects with
 * `run_unknown`, with `server_stopping`, and with whatever resuming it rejects with.
 */
export const findOrResume = async (
  { service, clock, stopping }: RunFinderPorts,
  caller: Caller,
  run: string,
  signal: AbortSignal,
): Promise<FoundRun> => {
  for (;;) {
    if (stopping.aborted) throw new CloisterError('server_stopping');
    const found =
      (await unlessOwned(() => service.questions.followRun(caller, run, { events: { details: false } }))) ??
      (await unlessOwned(() => service.resumeRun(caller, run, signal)));
    if (found !== undefined) return { served: found, isLate: true };
    await waitFor(clock, pollMs, stopping);
  }
};

const unlessOwned = async (find: () => Promise<ServedRun>): Promise<ServedRun | undefined> => {
  try {
    return await find();
  } catch (error) {
    // It has ended, or somebody has taken it, since it was looked at.
    if (error instanceof CloisterError && (error.code === 'run_owned' || error.code === 'run_ended')) return undefined;
    throw error;
  }
};

/** Ends early if the signal aborts. */
export const waitFor = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const over = (): void => {
      cancel();
      signal.removeEventListener('abort', over);
      resolve();
    };
    const cancel = clock.timer(ms, over);
    signal.addEventListener('abort', over, { once: true });
  });

/** The events of a run, until it has ended, is let go of, or the signal aborts. */
export async function* eventsUntil(
  run: Pick<ServedRun, 'events' | 'outcome'>,
  signal: AbortSignal,
): AsyncGenerator<RunEvent> {
  const iterator = run.events()[Symbol.asyncIterator]();
  let wake: () => void = () => undefined;
  let isOver = signal.aborted;
  const end = (): void => {
    isOver = true;
    wake();
  };
  signal.addEventListener('abort', end, { once: true });
  // The server stops: the run continues later, without this reader.
  run.outcome.catch(end);
  try {
    for (;;) {
      const next = iterator.next();
      next.catch(() => undefined);
      const read = await new Promise<IteratorResult<RunEvent> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        if (isOver) wake();
        else next.then(resolve, reject);
      });
      if (read === undefined || read.done === true) return;
      yield read.value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    void iterator.return?.();
  }
}
