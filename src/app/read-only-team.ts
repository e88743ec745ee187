// What a session shows of its team: copies, because only the team itself may change its tasks and results. It shows nothing before
// the team has started, or if the root is not a team.
import type { Task, TeamSession } from '#contracts';

type Queue = TeamSession['queue'];
type Memory = TeamSession['sharedMemory'];

export const readOnlyTasks = (queue: Queue | undefined): Queue => ({
  get: (id) => copyTask(queue?.get(id)),
  tasks: () => [...(queue?.tasks() ?? [])].map((task) => copyTask(task)!),
  earliestUnstarted: (assignee) => copyTask(queue?.earliestUnstarted(assignee)),
});

/** Cheap, because a screen that is drawn often asks for all tasks. */
const copyTask = (task: Task | undefined): Task | undefined =>
  task === undefined ? undefined : { ...task, dependsOn: [...task.dependsOn] };

export const readOnlyMemory = (memory: Memory | undefined): Memory => ({
  getSummary: (filter) => memory?.getSummary(filter) ?? '',
});
