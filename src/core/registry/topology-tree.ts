// Who stands below whom, for people and as JSON.
import type { TopologyNode } from '#contracts';
import type { Graph } from './topology-graph.ts';

const nodesMax = 5_000;

/** `spawned`: it is started and not waited for. */
type Growing = { readonly name: string; readonly file: string; readonly agents: Growing[]; readonly spawned?: true };

/**
 * A tree per root, down to the level where agents are still started. An agent that stands in several places has its own
 * sub-agents at the highest of them only; what there is no room for is a node whose name says how many.
 */
export const buildTree = (
  { agents, below, spawned, called, roots }: Graph,
  levelsMax: number,
): readonly TopologyNode[] => {
  const grown = new Set<number>();
  const queue: { readonly place: number; readonly level: number; readonly node: Growing }[] = [];
  let nodes = 0;

  const grow = (places: readonly number[], level: number, parent?: number): Growing[] => {
    const shown = places.slice(0, Math.max(0, nodesMax - nodes));
    nodes += shown.length;
    const made = shown.map((place) => {
      const { name, file } = agents[place]!;
      const isSpawned = parent !== undefined && spawned[parent]!.includes(place) && !called[parent]!.includes(place);
      const node: Growing = { name, file, agents: [], ...(isSpawned ? { spawned: true } : {}) };
      queue.push({ place, level, node });
      return node;
    });
    const left = places.length - shown.length;
    return left === 0 ? made : [...made, { name: `… ${left} more`, file: '', agents: [] }];
  };

  const trees = grow(roots, 0);
  for (const { place, level, node } of queue) {
    if (level >= levelsMax || grown.has(place)) continue;
    grown.add(place);
    node.agents.push(...grow(below[place]!, level + 1, place));
  }
  return trees;
};
