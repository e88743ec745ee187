// The tree of agents, for people and as JSON.
import type { EffectiveLimits, Limits, TopologyNode } from '#contracts';
import { effectiveLimits, lowerLimits, lowestLimits } from './limits.ts';
import type { AgentGraph } from './topology-graph.ts';

const nodesMax = 5_000;

/** `spawned`: its parent starts it without waiting for it. */
type MutableNode = {
  readonly name: string;
  readonly file: string;
  readonly agents: MutableNode[];
  readonly limits?: EffectiveLimits;
  readonly spawned?: true;
};

/** An agent at one place of the tree: its limits there, and what the agents that it spawns there have at most. */
type QueuedNode = {
  readonly index: number;
  readonly level: number;
  readonly node: MutableNode;
  readonly inheritable: Limits;
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
  const queue: QueuedNode[] = [];
  let nodes = 0;

  const expand = (indexes: readonly number[], level: number, parent?: QueuedNode): MutableNode[] => {
    const shown = indexes.slice(0, Math.max(0, nodesMax - nodes));
    nodes += shown.length;
    const created = shown.map((index) => {
      const { name, file, limits: own, explicit } = agents[index]!;
      const isSpawned =
        parent !== undefined && spawned[parent.index]!.includes(index) && !called[parent.index]!.includes(index);
      const most = isSpawned ? parent.inheritable : {};
      const limits = effectiveLimits(lowerLimits(own, most), parent === undefined);
      const node: MutableNode = { name, file, agents: [], limits, ...(isSpawned ? { spawned: true } : {}) };
      queue.push({ index, level, node, inheritable: lowestLimits(explicit.limits ?? own, most) });
      return node;
    });
    const left = indexes.length - shown.length;
    return left === 0 ? created : [...created, { name: `… ${left} more`, file: '', agents: [] }];
  };

  const trees = expand(roots, 0);
  for (const place of queue) {
    const { index, level, node } = place;
    if (level >= levelsMax || expanded.has(index)) continue;
    expanded.add(index);
    node.agents.push(...expand(below[index]!, level + 1, place));
  }
  return trees;
};
