// The events of a run from a place on, for clients that come back.
import { CloisterError } from '#base';
import type { RunEvent, RunReport, RunSession } from '#contracts';

/** Until the signal comes, if there is one. Throws `request_invalid` when the run has no event of that id. */
export async function* eventsAfter(
  session: RunSession | null,
  report: () => Promise<RunReport>,
  after: string | undefined,
  signal?: AbortSignal,
): AsyncGenerator<RunEvent> {
  if (session === null) {
    const { events } = await report();
    const from = after === undefined ? 0 : 1 + placeOf(events, after);
    yield* events.slice(from);
    return;
  }
  if (after !== undefined) placeOf((await report()).events, after);
  let skipping = after !== undefined;
  const iterator = session[Symbol.asyncIterator]();
  const leave = (): void => void iterator.return?.();
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    for await (const event of { [Symbol.asyncIterator]: () => iterator }) {
      if (!skipping) yield event;
      else if ('id' in event) skipping = event.id !== after;
    }
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

const placeOf = (events: RunReport['events'], id: string): number => {
  const place = events.findIndex((event) => event.id === id);
  if (place === -1)
    throw new CloisterError(
      'request_invalid',
      'The run has no event of the id to go on after. Leave it out to begin at the start.',
    );
  return place;
};
