// Finds agents that can end up below themselves, with the path.
import type { AgentGraph } from './topology-graph.ts';
import { isCyclic } from './topology-graph.ts';

/** Limits for the search beyond the first cycle of each group. */
const furtherMax = 100;
const stepsMax = 2_000_000;

/**
 * Each cycle is a shortest list of names that starts and ends with the same agent. Every group of agents that reach each
 * other has at least one cycle, and within the limits every agent of the group is on one. Listing all cycles could take
 * exponential time.
 */
export const findCycles = (graph: AgentGraph): readonly (readonly string[])[] => {
  const cycles: (readonly string[])[] = [];
  const progress = { steps: 0, further: 0 };
  const groups = graph.groups
    .filter(([first]) => first !== undefined && isCyclic(graph, first))
    .sort(([one = 0], [other = 0]) => one - other);
  for (const members of groups) {
    const shown = new Set<number>();
    for (const member of members) {
      if (shown.has(member)) continue;
      const isFurther = shown.size > 0;
      if (isFurther && (++progress.further > furtherMax || progress.steps > stepsMax)) break;
      const cycle = shortestCycle(graph, member, progress);
      for (const index of cycle) shown.add(index);
      cycles.push(cycle.map((index) => graph.agents[index]!.name));
    }
  }
  return cycles;
};

/** Breadth first, within the group, where there is always a path back. */
const shortestCycle = (
  { below, groupOf }: AgentGraph,
  start: number,
  counted: { steps: number },
): readonly number[] => {
  const cameFrom = new Map<number, number>();
  const queue = [start];
  for (const index of queue)
    for (const next of below[index]!) {
      counted.steps++;
      if (next === start) return [...pathTo(index, start, cameFrom), start];
      if (groupOf[next] !== groupOf[start] || cameFrom.has(next)) continue;
      cameFrom.set(next, index);
      queue.push(next);
    }
  return [];
};

const pathTo = (end: number, start: number, cameFrom: ReadonlyMap<number, number>): readonly number[] => {
  const path = [end];
  for (let index = end; index !== start;) {
    index = cameFrom.get(index)!;
    path.push(index);
  }
  return path.toReversed();
};
