// The tree of agents, for people and as JSON.
import type { TopologyNode } from '#contracts';
import type { AgentGraph } from './topology-graph.ts';

const nodesMax = 5_000;

/** `spawned`: its parent starts it without waiting for it. */
type MutableNode = {
  readonly name: string;
  readonly file: string;
  readonly agents: MutableNode[];
  readonly spawned?: true;
};

/**
 * One tree per root, down to the level where agents are still started. An agent that occurs several times shows its
 * sub-agents only at its highest position. Nodes beyond the limit are replaced by one whose name gives their number.
 */
export const buildTree = (
  { agents, below, spawned, called, roots }: AgentGraph,
  levelsMax: number,
): readonly TopologyNode[] => {
  const expanded = new Set<number>();
  const queue: { readonly place: number; readonly level: number; readonly node: MutableNode }[] = [];
  let nodes = 0;

  const expand = (indexes: readonly number[], level: number, parent?: number): MutableNode[] => {
    const shown = indexes.slice(0, Math.max(0, nodesMax - nodes));
    nodes += shown.length;
    const created = shown.map((index) => {
      const { name, file } = agents[index]!;
      const isSpawned = parent !== undefined && spawned[parent]!.includes(index) && !called[parent]!.includes(index);
      const node: MutableNode = { name, file, agents: [], ...(isSpawned ? { spawned: true } : {}) };
      queue.push({ place: index, level, node });
      return node;
    });
    const left = indexes.length - shown.length;
    return left === 0 ? created : [...created, { name: `… ${left} more`, file: '', agents: [] }];
  };

  const trees = expand(roots, 0);
  for (const { place: index, level, node } of queue) {
    if (level >= levelsMax || expanded.has(index)) continue;
    expanded.add(index);
    node.agents.push(...expand(below[index]!, level + 1, index));
  }
  return trees;
};
