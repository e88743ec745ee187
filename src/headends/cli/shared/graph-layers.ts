// Tasks in the order in which they can run: each layer depends on the layers before it.
import type { Task, TaskReason } from '#contracts';

/** The part of a task that a view of the graph needs. */
export type GraphTask = Pick<Task, 'id' | 'title' | 'assignee' | 'dependsOn' | 'status'> & {
  readonly reason?: TaskReason | null;
};

/**
 * Puts each task into the earliest layer its dependencies allow; unknown dependencies are ignored. Tasks in a cycle, and tasks
 * that depend on them, come last.
 */
export const taskLayers = (tasks: readonly GraphTask[]): readonly (readonly GraphTask[])[] => {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const links = tasks.flatMap((task) =>
    [...new Set(task.dependsOn)].flatMap((id) => {
      const before = byId.get(id);
      return before === undefined || before === task ? [] : [{ before, task }];
    }),
  );
  const dependents = Map.groupBy(links, ({ before }) => before);
  const missing = new Map([...Map.groupBy(links, ({ task }) => task)].map(([task, of]) => [task, of.length]));

  const layers: GraphTask[][] = [];
  const placed = new Set<GraphTask>();
  let layer = tasks.filter((task) => !missing.has(task));
  while (layer.length > 0) {
    layers.push(layer);
    const next: GraphTask[] = [];
    for (const task of layer) {
      placed.add(task);
      for (const { task: dependent } of dependents.get(task) ?? []) {
        const left = (missing.get(dependent) ?? 0) - 1;
        missing.set(dependent, left);
        if (left === 0) next.push(dependent);
      }
    }
    layer = next;
  }
  const rest = tasks.filter((task) => !placed.has(task));
  return rest.length === 0 ? layers : [...layers, rest];
};
