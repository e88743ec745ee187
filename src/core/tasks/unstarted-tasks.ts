// The unstarted tasks of each assignee, in the order of the queue.
import type { Task } from '#contracts';

export class UnstartedTasks {
  readonly #lists = new Map<string, { readonly tasks: Task[]; next: number }>();

  add(task: Task): void {
    if (task.assignee === null) return;
    const list = this.#lists.get(task.assignee);
    if (list === undefined) this.#lists.set(task.assignee, { tasks: [task], next: 0 });
    else list.tasks.push(task);
  }

  /** A task that was started or has ended never becomes unstarted again, so each task is passed over once. */
  first(assignee: string): Task | undefined {
    const list = this.#lists.get(assignee);
    if (list === undefined) return undefined;
    while (list.next < list.tasks.length && !isUnstarted(list.tasks[list.next]!)) list.next++;
    return list.tasks[list.next];
  }
}

const isUnstarted = ({ status, attempts }: Task): boolean =>
  // probe: task-unstarted
  attempts === 0 && (status === 'pending' || status === 'ready');
