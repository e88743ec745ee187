import { CloisterError, unknownAgentError } from '#base';
import type { Agent } from '#contracts';
import { withChildren } from '#app/agents';

/** The agent with this name; without a name, the only agent that no other agent calls. Throws `agent_unknown`. */
export const findRootAgent = (agents: readonly Agent[], name: string | undefined): Agent => {
  const names = agents.map((agent) => agent.name);
  if (name !== undefined) {
    const found = agents.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    throw unknownAgentError(name, names);
  }
  const calledAgents = new Set(
    agents.flatMap(({ agents: called, spawnable, members, coordinator }) => {
      const coordinators = coordinator === null ? [] : [coordinator.plans, coordinator.answers];
      return [...withChildren([...called, ...spawnable, ...members, ...coordinators])];
    }),
  );
  const roots = agents.filter(
    (agent) => ![...calledAgents].some((one) => one.name === agent.name && one.file === agent.file),
  );
  if (roots.length === 1) return roots[0]!;
  throw new CloisterError(
    'agent_unknown',
    `Several agents could be the root; choose one: ${(roots.length === 0 ? names : roots.map((agent) => agent.name)).join(', ')}.`,
  );
};
