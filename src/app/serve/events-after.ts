// The events of a run from a place on, for clients that come back.
import { CloisterError } from '#base';
import type { RunEvent, RunReport, RunSession } from '#contracts';

/** Throws `request_invalid` when the run has no event of that id. */
export async function* eventsAfter(
  session: RunSession | null,
  report: () => Promise<RunReport>,
  after: string | undefined,
): AsyncGenerator<RunEvent> {
  if (session === null) {
    const { events } = await report();
    const from = after === undefined ? 0 : 1 + placeOf(events, after);
    yield* events.slice(from);
    return;
  }
  if (after !== undefined) placeOf((await report()).events, after);
  let skipping = after !== undefined;
  for await (const event of session) {
    if (!skipping) yield event;
    else if ('id' in event) skipping = event.id !== after;
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
