// Waiting with an end: by a signal or after a timeout.
import { CloisterError } from '#base';

/** The result of `work`, or a rejection if the signal aborts first; the work then continues unobserved. */
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

/** Why a signal aborted, as one of our errors; foreign reasons are not passed on. */
export const abortReason = (signal: AbortSignal): CloisterError =>
  signal.reason instanceof CloisterError ? signal.reason : new CloisterError('cancelled');

/** Waits until `work` settles, but at most `ms`. */
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
