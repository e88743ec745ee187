// Progress notifications: who does what while an agent works. They hold names only, no content of any cell.
import type { RunEvent } from '#contracts';
import { progressBurst, progressPerSecond } from './limits.ts';
import type { Backpressure } from './server-factory.ts';

export type ProgressNote = { readonly progress: number; readonly message: string };

/** Ends with the events. Drops what exceeds the rate, and what a slow client has no room for. */
export const sendProgress = async (
  events: AsyncIterable<RunEvent>,
  flow: Backpressure,
  send: (note: ProgressNote) => Promise<void>,
): Promise<void> => {
  let [sent, left, at] = [0, progressBurst, 0];
  for await (const event of events) {
    const message = progressText(event);
    if (message === null || !('at' in event)) continue;
    if (at !== 0) left = Math.min(progressBurst, left + (Math.max(0, event.at - at) * progressPerSecond) / 1_000);
    at = event.at;
    if (left < 1 || !flow.tryReserve(Buffer.byteLength(message))) continue;
    left -= 1;
    // If sending fails, the client is gone; the end of the connection is handled elsewhere.
    await send({ progress: ++sent, message }).catch(() => undefined);
  }
};

const progressText = (event: RunEvent): string | null => {
  switch (event.type) {
    case 'child-start':
      return `${event.agent} called ${event.childAgent}.`;
    case 'child-end':
      return `${event.childAgent} returned to ${event.agent}: ${event.status}.`;
    case 'tool-start':
      return `${event.agent} called the tool ${event.tool}.`;
    case 'tool-end':
      return `The tool ${event.tool} of ${event.agent} ${event.ok ? 'succeeded' : 'failed'}.`;
    default:
      return null;
  }
};
