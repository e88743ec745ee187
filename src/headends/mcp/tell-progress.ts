// Who does what while an agent works, as notes of progress. Names only: no content of any cell is in them.
import type { RunEvent } from '#contracts';
import { notesAtOnce, notesPerSecond } from './limits.ts';
import type { Flow } from './server-for.ts';

export type ProgressNote = { readonly progress: number; readonly message: string };

/** Ends with the events. What is too much at once, or for a client that reads slowly, is left out. */
export const tellProgress = async (
  events: AsyncIterable<RunEvent>,
  flow: Flow,
  tell: (note: ProgressNote) => Promise<void>,
): Promise<void> => {
  let [told, left, at] = [0, notesAtOnce, 0];
  for await (const event of events) {
    const message = wordsOf(event);
    if (message === null || !('at' in event)) continue;
    if (at !== 0) left = Math.min(notesAtOnce, left + (Math.max(0, event.at - at) * notesPerSecond) / 1_000);
    at = event.at;
    if (left < 1 || !flow.take(Buffer.byteLength(message))) continue;
    left -= 1;
    // A note that cannot be sent has no reader: the connection's end is told elsewhere.
    await tell({ progress: ++told, message }).catch(() => undefined);
  }
};

const wordsOf = (event: RunEvent): string | null => {
  switch (event.type) {
    case 'child-start':
      return `${event.agent} asks ${event.childAgent}.`;
    case 'child-end':
      return `${event.childAgent} is back to ${event.agent}: ${event.status}.`;
    case 'tool-start':
      return `${event.agent} uses ${event.tool}.`;
    case 'tool-end':
      return `${event.tool} ${event.ok ? 'has answered' : 'has failed'} ${event.agent}.`;
    default:
      return null;
  }
};
