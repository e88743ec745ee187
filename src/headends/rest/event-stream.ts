// The events of a run as they are sent: each once, then how it ended.
import { clientError } from '#headends/shared';
import type { JsonObject } from '#base';
import type { RunEvent, ServerEvent } from '#contracts';
import { restError } from './rest-error.ts';

type Stream = {
  readonly events: AsyncIterable<RunEvent>;
  /** How it ended; null when it goes on where nobody here can follow it. */
  readonly ending: () => Promise<JsonObject | null>;
  /** Of the request. */
  readonly id: string;
};

export const eventStream = async function* ({ events, ending, id }: Stream): AsyncGenerator<ServerEvent> {
  try {
    for await (const event of events) yield serverEvent(event);
    const value = await ending();
    if (value !== null) yield { event: 'outcome', data: JSON.stringify(value) };
  } catch (error) {
    yield { event: 'error', data: JSON.stringify(restError(clientError(error), id)) };
  }
};

/** Live pieces have no id: whoever comes back is told what was recorded instead. */
const serverEvent = (event: RunEvent): ServerEvent => ({
  event: event.type,
  ...('id' in event ? { id: event.id } : {}),
  data: JSON.stringify(event),
});
