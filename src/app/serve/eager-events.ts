// Subscribes to events now, and buffers them until they are read.
import type { RunEvent, RunSession } from '#contracts';

/** For one reader. Ends when the signal aborts. */
export const eagerEvents = (session: RunSession, signal?: AbortSignal): AsyncIterable<RunEvent> => {
  const iterator = session[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<RunEvent>> | undefined = iterator.next();
  first.catch(() => undefined);
  if (signal !== undefined) returnOnAbort(signal, session, iterator);
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const next = first ?? iterator.next();
        first = undefined;
        return next;
      },
      return: async (value) => {
        first = undefined;
        return (await iterator.return?.(value)) ?? { done: true, value };
      },
    }),
  };
};

const returnOnAbort = (signal: AbortSignal, session: RunSession, iterator: AsyncIterator<RunEvent>): void => {
  const leave = (): void => void iterator.return?.();
  if (signal.aborted) return leave();
  signal.addEventListener('abort', leave, { once: true });
  const over = (): void => signal.removeEventListener('abort', leave);
  session.outcome.then(over, over);
};
