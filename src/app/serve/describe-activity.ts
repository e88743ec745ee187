// Describes the activity of a run for clients that only show text: who does what, never any content.
import type { RunEvent } from '#contracts';

export const describeActivity = (event: RunEvent): string | null => {
  switch (event.type) {
    case 'child-start':
      return `${event.agent} calls ${event.tool}`;
    case 'child-end':
      return `${event.tool} ${event.ok ? 'answered' : `did not answer (${event.status})`}`;
    case 'tool-start':
      return `${event.agent} uses ${event.tool}`;
    case 'task':
      return `task ${event.task} is ${event.status}`;
    case 'wait-start':
      return event.for === undefined ? `${event.agent} is waiting` : `${event.agent} waits for the agents it started`;
    default:
      return null;
  }
};
