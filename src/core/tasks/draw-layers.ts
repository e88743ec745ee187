// Assigns tasks to layers: each task is one layer after the last of its dependencies.
import { graphLayers } from '#base';
import type { GraphEdge } from '#base';
import type { DrawableTask, TaskSpec } from '#contracts';

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

/** Layers of task indexes. A layer that is too long to read is split into several. */
export const assignLayers = (count: number, edges: readonly GraphEdge[]): readonly (readonly number[])[] => {
  const longest = Math.max(longestMin, Math.ceil(2 * Math.sqrt(count)));
  return graphLayers(count, edges).flatMap((layer) => evenParts(layer, Math.ceil(layer.length / longest)));
};

const longestMin = 16;

const evenParts = <T>(list: readonly T[], parts: number): readonly (readonly T[])[] => {
  const size = Math.ceil(list.length / parts);
  return Array.from({ length: parts }, (_, part) => list.slice(part * size, (part + 1) * size)).filter(
    (part) => part.length > 0,
  );
};
