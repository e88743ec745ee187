// Analyses a set of agents before a token is spent: cycles, the worst case, what each agent can reach, and warnings.
//
//   topology-pure. The same agents in the same order give the same result.
//   topology-linear. Time and memory, also for a chain of ten thousand agents or one agent that refers to all others. What
//       could grow faster (the tree, paths between agents, cycles, lists of names) is cut, with the number of what is
//       missing.
import type { Topology, TopologyAgent } from '#contracts';
import { findCycles } from './topology-cycles.ts';
import { buildGraph } from './topology-graph.ts';
import { mailWarnings } from './topology-mail.ts';
import { computeReach } from './topology-reach.ts';
import { buildTree } from './topology-tree.ts';
import { agentWarnings } from './topology-warnings.ts';
import { computeWorstCase } from './topology-worst-case.ts';

const depthMaxDefault = 3;
/** Deeper trees could not be shown, so they are neither drawn nor counted. */
const depthMaxMost = 64;

type TopologyOptions = {
  /** The deepest level below the root at which agents are started. Default 3, maximum 64. */
  readonly depthMax?: number;
};

/**
 * `roots`: files of the agents that people run. If empty: agents that no other refers to, and one agent of each cycle that
 * no other agent refers to. An agent's `tools` contain `gather` if it may call several sub-agents in one call.
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
    worstCase: computeWorstCase(graph, levelsMax),
    reach: computeReach(graph, levelsMax),
    warnings: [...agentWarnings(graph, levelsMax), ...mailWarnings(graph)],
    tree: buildTree(graph, levelsMax),
  };
};
