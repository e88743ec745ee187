// Events that are listened to from now on, though they are read later.
import type { RunEvent, RunSession } from '#contracts';

/** For one reader; until the signal comes, if there is one. */
export const eagerEvents = (session: RunSession, signal?: AbortSignal): AsyncIterable<RunEvent> => {
  const iterator = session[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<RunEvent>> | undefined = iterator.next();
  first.catch(() => undefined);
  if (signal !== undefined) leaveWith(signal, session, iterator);
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

const leaveWith = (signal: AbortSignal, session: RunSession, iterator: AsyncIterator<RunEvent>): void => {
  const leave = (): void => void iterator.return?.();
  if (signal.aborted) return leave();
  signal.addEventListener('abort', leave, { once: true });
  const over = (): void => signal.removeEventListener('abort', leave);
  session.outcome.then(over, over);
};
