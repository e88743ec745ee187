// Assigns tasks to layers: each task is one layer after the last of its dependencies.
import type { Task, TaskReason, TaskSpec } from '#contracts';

/** What a drawing needs to know about a task. */
export type DrawableTask = Pick<Task, 'id' | 'title' | 'assignee' | 'dependsOn' | 'status'> & {
  readonly reason?: TaskReason | null;
};

/** A task as specified, or with its current status. */
export type DrawableInput = Pick<TaskSpec, 'title'> & Partial<Omit<DrawableTask, 'title'>>;

export const toDrawable = (tasks: readonly DrawableInput[]): readonly DrawableTask[] =>
  tasks.map(({ id, title, assignee = null, dependsOn = [], status = 'pending', reason = null }, index) => ({
    id: id ?? `task ${index}`,
    title,
    assignee,
    dependsOn,
    status,
    reason,
  }));

/** From a task to one that depends on it, both as indexes in the list. */
export type TaskEdge = { readonly from: number; readonly to: number };

/** Each dependency once. Unknown ids and a task's own id make no edge. */
export const listEdges = (tasks: readonly DrawableTask[]): readonly TaskEdge[] => {
  const indexById = new Map<string, number>();
  for (const [index, { id }] of tasks.entries()) if (!indexById.has(id)) indexById.set(id, index);
  return tasks.flatMap(({ dependsOn }, to) =>
    [...new Set(dependsOn)].flatMap((id) => {
      const from = indexById.get(id);
      return from === undefined || from === to ? [] : [{ from, to }];
    }),
  );
};

/** Layers of task indexes. A layer that is too long to read is split into several. */
export const assignLayers = (count: number, edges: readonly TaskEdge[]): readonly (readonly number[])[] => {
  const layers: number[][] = [];
  for (const [index, depth] of longestPaths(count, edges).entries()) (layers[depth] ??= []).push(index);
  const longest = Math.max(longestMin, Math.ceil(2 * Math.sqrt(count)));
  return layers.flatMap((layer) => evenParts(layer, Math.ceil(layer.length / longest)));
};

const longestMin = 16;

/** The longest path to each task from one without dependencies. In a cycle, which has no such path, the first task in the list goes first. */
const longestPaths = (count: number, edges: readonly TaskEdge[]): readonly number[] => {
  const depths = Array.from({ length: count }, () => 0);
  const open = Array.from({ length: count }, () => 0);
  const dependents: number[][] = Array.from({ length: count }, () => []);
  for (const { from, to } of edges) {
    dependents[from]?.push(to);
    open[to] = (open[to] ?? 0) + 1;
  }
  const done = new Set<number>();
  const ready: number[] = [];
  const take = (index: number): void => {
    if (done.has(index)) return;
    done.add(index);
    ready.push(index);
  };
  for (let index = 0; index < count; index++) if (open[index] === 0) take(index);
  for (let [next, first] = [0, 0]; done.size < count || next < ready.length; next++) {
    if (next === ready.length) {
      while (done.has(first)) first++;
      take(first);
    }
    const index = ready[next] ?? 0;
    for (const to of dependents[index] ?? []) {
      if (done.has(to)) continue;
      depths[to] = Math.max(depths[to] ?? 0, (depths[index] ?? 0) + 1);
      open[to] = (open[to] ?? 0) - 1;
      if (open[to] === 0) take(to);
    }
  }
  return depths;
};

const evenParts = <T>(list: readonly T[], parts: number): readonly (readonly T[])[] => {
  const size = Math.ceil(list.length / parts);
  return Array.from({ length: parts }, (_, part) => list.slice(part * size, (part + 1) * size)).filter(
    (part) => part.length > 0,
  );
};
