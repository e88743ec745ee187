// The tasks that can be started, the most urgent first, apart for each of those who may do them.
//
//   R1. What is here counts only while the task is ready and for that one; the rest is left out when its turn comes.
import type { Task } from '#contracts';

/** Null: for whoever has the most room. */
type For = string | null;

export class ReadyTasks {
  readonly #heaps = new Map<For, Task[]>();

  add(task: Task): void {
    const heap = this.#heaps.get(task.assignee);
    if (heap === undefined) this.#heaps.set(task.assignee, [task]);
    else push(heap, task);
  }

  /** For whom there is something; no others are ever asked. */
  assignees(): Iterable<For> {
    return this.#heaps.keys();
  }

  first(assignee: For): Task | undefined {
    const heap = this.#heaps.get(assignee);
    if (heap === undefined) return undefined;
    while (heap.length > 0 && !(heap[0]!.status === 'ready' && heap[0]!.assignee === assignee)) pop(heap);
    if (heap.length === 0) this.#heaps.delete(assignee);
    return heap[0];
  }

  /** Takes out the first. */
  drop(assignee: For): void {
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
  let place = heap.push(task) - 1;
  while (place > 0) {
    const above = (place - 1) >> 1;
    if (!isBefore(task, heap[above]!)) break;
    heap[place] = heap[above]!;
    place = above;
  }
  heap[place] = task;
};

const pop = (heap: Task[]): void => {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let place = 0;
  for (;;) {
    let below = 2 * place + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
    if (!isBefore(heap[below]!, last)) break;
    heap[place] = heap[below]!;
    place = below;
  }
  heap[place] = last;
};
