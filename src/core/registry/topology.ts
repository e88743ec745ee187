// What a set of agents adds up to, before a token is spent: cycles, the worst case, who can touch what, and warnings.
//
//   P1. Pure, and the same for the same agents in the same order.
//   P2. Ten thousand agents, a chain of them or one that names all others, take time and room in proportion; what could
//       grow faster (the tree, ways between agents, cycles, lists of names) is cut, and says how much is missing.
import type { Topology, TopologyAgent } from '#contracts';
import { findCycles } from './topology-cycles.ts';
import { buildGraph } from './topology-graph.ts';
import { mailWarnings } from './topology-mail.ts';
import { computeReach } from './topology-reach.ts';
import { buildTree } from './topology-tree.ts';
import { warningsOf } from './topology-warnings.ts';
import { worstCaseOf } from './topology-worst-case.ts';

const depthMaxDefault = 3;
/** Deeper trees are not drawn or counted: they could not be shown either. */
const depthMaxMost = 64;

export type TopologyOptions = {
  /** Levels below the root at which agents are still started: 3 unless given, 64 at most. */
  readonly depthMax?: number;
};

/**
 * `roots`: files of the agents that people run. None: those that no other agent names, and one of each cycle that nobody
 * else names. An agent's `tools` hold `gather` when it may ask several sub-agents in one call.
 */
export const checkTopology = (
  agents: readonly TopologyAgent[],
  roots: readonly string[],
  { depthMax = depthMaxDefault }: TopologyOptions = {},
): Topology => {
  const levelsMax = Math.max(0, Math.min(Math.floor(depthMax), depthMaxMost));
  const graph = buildGraph(agents, roots);
  return {
    cycles: findCycles(graph),
    worstCase: worstCaseOf(graph, levelsMax),
    reach: computeReach(graph, levelsMax),
    warnings: [...warningsOf(graph, levelsMax), ...mailWarnings(graph)],
    tree: buildTree(graph, levelsMax),
  };
};
