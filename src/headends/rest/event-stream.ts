// The events of a run as a stream: each event once, then the outcome.
import { clientError } from '#headends/shared';
import type { JsonObject } from '#base';
import type { RunEvent, ServerEvent } from '#contracts';
import { restError } from './rest-error.ts';

type EventStreamInput = {
  readonly events: AsyncIterable<RunEvent>;
  /** The outcome; null if the run continues in another process, where this server cannot follow it. */
  readonly finalValue: () => Promise<JsonObject | null>;
  /** The id of the request. */
  readonly id: string;
};

export const eventStream = async function* ({ events, finalValue, id }: EventStreamInput): AsyncGenerator<ServerEvent> {
  try {
    for await (const event of events) yield serverEvent(event);
    const value = await finalValue();
    if (value !== null) yield { event: 'outcome', data: JSON.stringify(value) };
  } catch (error) {
    yield { event: 'error', data: JSON.stringify(restError(clientError(error), id)) };
  }
};

/** Live pieces have no id: a client that reconnects gets the recorded events instead. */
const serverEvent = (event: RunEvent): ServerEvent => ({
  event: event.type,
  ...('id' in event ? { id: event.id } : {}),
  data: JSON.stringify(event),
});
