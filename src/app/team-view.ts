// What a session shows of its team. It shows nothing before the team has started, or if the root is not a team.
import type { TeamSession } from '#contracts';

/** Read-only: only the team itself may change its tasks. */
export const readOnlyTasks = (queue: TeamSession['queue'] | undefined): TeamSession['queue'] => ({
  get: (id) => queue?.get(id),
  tasks: () => [...(queue?.tasks() ?? [])],
  earliestUnstarted: (assignee) => queue?.earliestUnstarted(assignee),
});

export const noMemory: TeamSession['sharedMemory'] = { getSummary: () => '' };
