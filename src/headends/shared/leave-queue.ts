// Runs that continue although nobody reads them.
import type { AdmittedRequest } from '#contracts';

/** A client that disconnects leaves the queue; a run that has started keeps running. */
export const leaveQueueOnDisconnect = async <T>(
  { signal }: Pick<AdmittedRequest, 'signal'>,
  start: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const waiting = new AbortController();
  const leave = (): void => waiting.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await start(waiting.signal);
  } finally {
    signal.removeEventListener('abort', leave);
  }
};
