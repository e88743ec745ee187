// Events that are listened to from now on, though they are read later.
import type { RunEvent, RunSession } from '#contracts';

/** For one reader. */
export const primed = (session: RunSession): AsyncIterable<RunEvent> => {
  const iterator = session[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<RunEvent>> | undefined = iterator.next();
  first.catch(() => undefined);
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const next = first ?? iterator.next();
        first = undefined;
        return next;
      },
      return: async (value) => (await iterator.return?.(value)) ?? { done: true, value },
    }),
  };
};
