// What a session shows of its team before the team has started, or if the root is not a team.
import type { Task, TeamSession } from '#contracts';

export const noTasks: TeamSession['queue'] = {
  get: () => undefined,
  tasks: (): Iterable<Task> => [],
  earliestUnstarted: () => undefined,
};
export const noMemory: TeamSession['sharedMemory'] = { getSummary: () => '' };
