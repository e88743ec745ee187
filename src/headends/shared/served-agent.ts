// Finds the agent that a client names.
import { unknownAgentError } from '#base';
import type { Agent, Caller, AgentService } from '#contracts';

/** Throws `agent_unknown`, also for agents that the caller may not run. */
export const servedAgent = (service: Pick<AgentService, 'agents'>, caller: Caller, name: string): Agent => {
  const agents = service.agents(caller);
  const found = agents.find((agent) => agent.name === name);
  if (found !== undefined) return found;
  throw unknownAgentError(
    name,
    agents.map((agent) => agent.name),
    'this token may not run any agent.',
  );
};
