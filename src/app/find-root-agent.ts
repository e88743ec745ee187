import { CloisterError, unknownAgentError } from '#base';
import type { Agent } from '#contracts';
import { startableAgents } from '#core/orchestration';
import { withChildren } from '#app/agents';

/** The agent with this name; without a name, the only agent that no other agent calls. Throws `agent_unknown`. */
export const findRootAgent = (agents: readonly Agent[], name: string | undefined): Agent => {
  const names = agents.map((agent) => agent.name);
  if (name !== undefined) {
    const found = agents.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    throw unknownAgentError(name, names);
  }
  const calledAgents = withChildren(agents.flatMap(startableAgents));
  const roots = agents.filter(
    (agent) => ![...calledAgents].some((one) => one.name === agent.name && one.file === agent.file),
  );
  if (roots.length === 1) return roots[0]!;
  throw new CloisterError(
    'agent_unknown',
    `Several agents could be the root; choose one: ${(roots.length === 0 ? names : roots.map((agent) => agent.name)).join(', ')}.`,
  );
};
