// The agent that a client asks for by its name.
import { unknownAgentError } from '#base';
import type { Agent, Caller, AgentService } from '#contracts';

/** Throws `agent_unknown`, also for those that the caller may not ask. */
export const servedAgent = (serving: Pick<AgentService, 'agents'>, caller: Caller, name: string): Agent => {
  const agents = serving.agents(caller);
  const found = agents.find((agent) => agent.name === name);
  if (found !== undefined) return found;
  throw unknownAgentError(
    name,
    agents.map((agent) => agent.name),
    'this token may ask none.',
  );
};
