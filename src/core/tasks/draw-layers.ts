// Which tasks stand side by side: each one a layer behind the last of those that it depends on.
import type { Task, TaskReason, TaskSpec } from '#contracts';

/** What a drawing needs of a task. */
export type DrawableTask = Pick<Task, 'id' | 'title' | 'assignee' | 'dependsOn' | 'status'> & {
  readonly reason?: TaskReason | null;
};

/** A task as it is asked for, or as it stands. */
export type DrawableInput = Pick<TaskSpec, 'title'> & Partial<Omit<DrawableTask, 'title'>>;

export const drawnOf = (tasks: readonly DrawableInput[]): readonly DrawableTask[] =>
  tasks.map(({ id, title, assignee = null, dependsOn = [], status = 'pending', reason = null }, place) => ({
    id: id ?? `task ${place}`,
    title,
    assignee,
    dependsOn,
    status,
    reason,
  }));

/** From a task to one that depends on it, both by their places in the list. */
export type TaskEdge = { readonly from: number; readonly to: number };

/** Each dependency once. Ids that nobody has, and a task's own, make no link. */
export const linksOf = (tasks: readonly DrawableTask[]): readonly TaskEdge[] => {
  const places = new Map<string, number>();
  for (const [place, { id }] of tasks.entries()) if (!places.has(id)) places.set(id, place);
  return tasks.flatMap(({ dependsOn }, to) =>
    [...new Set(dependsOn)].flatMap((id) => {
      const from = places.get(id);
      return from === undefined || from === to ? [] : [{ from, to }];
    }),
  );
};

/** Layers of places. One that would be too long to look at is given as several, one behind the other. */
export const layersOf = (count: number, links: readonly TaskEdge[]): readonly (readonly number[])[] => {
  const layers: number[][] = [];
  for (const [place, depth] of depthsOf(count, links).entries()) (layers[depth] ??= []).push(place);
  const longest = Math.max(longestMin, Math.ceil(2 * Math.sqrt(count)));
  return layers.flatMap((layer) => evenParts(layer, Math.ceil(layer.length / longest)));
};

const longestMin = 16;

/** The longest way to each from one that depends on nothing. In a circle, which has no such way, the first comes first. */
const depthsOf = (count: number, links: readonly TaskEdge[]): readonly number[] => {
  const depths = Array.from({ length: count }, () => 0);
  const open = Array.from({ length: count }, () => 0);
  const dependents: number[][] = Array.from({ length: count }, () => []);
  for (const { from, to } of links) {
    dependents[from]?.push(to);
    open[to] = (open[to] ?? 0) + 1;
  }
  const done = new Set<number>();
  const ready: number[] = [];
  const take = (place: number): void => {
    if (done.has(place)) return;
    done.add(place);
    ready.push(place);
  };
  for (let place = 0; place < count; place++) if (open[place] === 0) take(place);
  for (let [next, first] = [0, 0]; done.size < count || next < ready.length; next++) {
    if (next === ready.length) {
      while (done.has(first)) first++;
      take(first);
    }
    const place = ready[next] ?? 0;
    for (const to of dependents[place] ?? []) {
      if (done.has(to)) continue;
      depths[to] = Math.max(depths[to] ?? 0, (depths[place] ?? 0) + 1);
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
