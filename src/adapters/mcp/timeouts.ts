// Waiting that ends: with a signal, or after a time.
import { CloisterError } from '#base';

/** What the work gives, or the signal's end if that comes first; the work then goes on unseen. */
export const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(abortReason(signal));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
};

/** Why a signal ended, in our words; what others put there stays with them. */
export const abortReason = (signal: AbortSignal): CloisterError =>
  signal.reason instanceof CloisterError ? signal.reason : new CloisterError('cancelled');

/** Waits for the end of something, whichever way it ends, but not longer than this. */
export const settledWithin = async (ms: number, work: Promise<unknown>): Promise<void> => {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const quiet = work.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([quiet, late]);
  clearTimeout(timer);
};
