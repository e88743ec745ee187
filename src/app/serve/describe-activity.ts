// What goes on in a run, for a client that only shows words: who does what, never what was said.
import type { RunEvent } from '#contracts';

export const describeActivity = (event: RunEvent): string | null => {
  switch (event.type) {
    case 'child-start':
      return `${event.agent} asks ${event.tool}`;
    case 'child-end':
      return `${event.tool} ${event.ok ? 'has answered' : `has not answered (${event.status})`}`;
    case 'tool-start':
      return `${event.agent} uses ${event.tool}`;
    case 'task':
      return `task ${event.task} is ${event.status}`;
    case 'wait-start':
      return `${event.agent} waits`;
    default:
      return null;
  }
};
