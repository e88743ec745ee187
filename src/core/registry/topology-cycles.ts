// Who comes to stand below itself, and by which way.
import type { Graph } from './topology-graph.ts';
import { isCyclic } from './topology-graph.ts';

/** Beyond the first of each group, so many are looked for, at so many steps. */
const furtherMax = 100;
const stepsMax = 2_000_000;

/**
 * Each as a list of names that begins and ends with the same agent, as short as can be. Every group of agents that reach
 * one another has at least one, and every agent of it is on one as long as there are not too many: all of them could be
 * more than there are atoms.
 */
export const findCycles = (graph: Graph): readonly (readonly string[])[] => {
  const cycles: (readonly string[])[] = [];
  const counted = { steps: 0, further: 0 };
  const groups = graph.groups
    .filter(([first]) => first !== undefined && isCyclic(graph, first))
    .sort(([one = 0], [other = 0]) => one - other);
  for (const members of groups) {
    const shown = new Set<number>();
    for (const member of members) {
      if (shown.has(member)) continue;
      const isFurther = shown.size > 0;
      if (isFurther && (++counted.further > furtherMax || counted.steps > stepsMax)) break;
      const cycle = shortestCycle(graph, member, counted);
      for (const place of cycle) shown.add(place);
      cycles.push(cycle.map((place) => graph.agents[place]!.name));
    }
  }
  return cycles;
};

/** Breadth first, inside the group: there is always a way back. */
const shortestCycle = ({ below, groupOf }: Graph, start: number, counted: { steps: number }): readonly number[] => {
  const cameFrom = new Map<number, number>();
  const queue = [start];
  for (const place of queue)
    for (const next of below[place]!) {
      counted.steps++;
      if (next === start) return [...wayTo(place, start, cameFrom), start];
      if (groupOf[next] !== groupOf[start] || cameFrom.has(next)) continue;
      cameFrom.set(next, place);
      queue.push(next);
    }
  return [];
};

const wayTo = (end: number, start: number, cameFrom: ReadonlyMap<number, number>): readonly number[] => {
  const way = [end];
  for (let place = end; place !== start;) {
    place = cameFrom.get(place)!;
    way.push(place);
  }
  return way.toReversed();
};
