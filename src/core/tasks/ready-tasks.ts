// The tasks that can be started, most urgent first, in a separate heap for each assignee.
//
//   ready-entry-counts-while-ready. An entry counts only while its task is ready and has that assignee. Stale entries are
//       dropped when they reach the top.
import type { Task } from '#contracts';

/** Null: for whichever assignee has the most free capacity. */
type AssigneeKey = string | null;

export class ReadyTasks {
  readonly #heaps = new Map<AssigneeKey, Task[]>();

  add(task: Task): void {
    const heap = this.#heaps.get(task.assignee);
    if (heap === undefined) this.#heaps.set(task.assignee, [task]);
    else push(heap, task);
  }

  /** The assignees that have entries. */
  assignees(): Iterable<AssigneeKey> {
    return this.#heaps.keys();
  }

  first(assignee: AssigneeKey): Task | undefined {
    const heap = this.#heaps.get(assignee);
    if (heap === undefined) return undefined;
    while (heap.length > 0 && !(heap[0]!.status === 'ready' && heap[0]!.assignee === assignee)) pop(heap);
    if (heap.length === 0) this.#heaps.delete(assignee);
    return heap[0];
  }

  /** Removes the first task. */
  removeFirst(assignee: AssigneeKey): void {
    const heap = this.#heaps.get(assignee);
    if (heap !== undefined) pop(heap);
  }

  clear(): void {
    this.#heaps.clear();
  }
}

export const isBefore = (one: Task, other: Task): boolean =>
  one.priority === other.priority ? one.order < other.order : one.priority > other.priority;

const push = (heap: Task[], task: Task): void => {
  let index = heap.push(task) - 1;
  while (index > 0) {
    const above = (index - 1) >> 1;
    if (!isBefore(task, heap[above]!)) break;
    heap[index] = heap[above]!;
    index = above;
  }
  heap[index] = task;
};

const pop = (heap: Task[]): void => {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let below = 2 * index + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
    if (!isBefore(heap[below]!, last)) break;
    heap[index] = heap[below]!;
    index = below;
  }
  heap[index] = last;
};

// The unstarted tasks of each assignee, in the order of the queue.

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
