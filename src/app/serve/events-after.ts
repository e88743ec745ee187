// The events of a run after a given one, for clients that reconnect.
import { CloisterError } from '#base';
import type { RunEvent, RunReport, RunSession } from '#contracts';

/** Ends when the signal aborts. Throws `request_invalid` when the run has no event with that id. */
export async function* eventsAfter(
  session: RunSession | null,
  report: () => Promise<RunReport>,
  after: string | undefined,
  signal?: AbortSignal,
): AsyncGenerator<RunEvent> {
  if (session === null) {
    const { events } = await report();
    const from = after === undefined ? 0 : 1 + eventIndex(events, after);
    yield* events.slice(from);
    return;
  }
  if (after !== undefined) eventIndex((await report()).events, after);
  let skipping = after !== undefined;
  const iterator = session[Symbol.asyncIterator]();
  const leave = (): void => void iterator.return?.();
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    for await (const event of { [Symbol.asyncIterator]: () => iterator }) {
      if (!skipping) yield event;
      else if ('id' in event) skipping = event.id !== after;
      // The client has asked for what comes next, so it has taken this.
      if (event.type === 'mail' && event.to === 'outside') session.confirm(event.message);
    }
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

const eventIndex = (events: RunReport['events'], id: string): number => {
  const index = events.findIndex((event) => event.id === id);
  if (index === -1)
    throw new CloisterError(
      'request_invalid',
      'The run has no event with that id. Omit it to start from the first event.',
    );
  return index;
};
