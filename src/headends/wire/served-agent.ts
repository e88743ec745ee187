// The agent that a client asks for by its name.
import { unknownAgent } from '#base';
import type { Agent, Caller, Serving } from '#contracts';

/** Throws `agent_unknown`, also for those that the caller may not ask. */
export const servedAgent = (serving: Pick<Serving, 'agents'>, caller: Caller, name: string): Agent => {
  const agents = serving.agents(caller);
  const found = agents.find((agent) => agent.name === name);
  if (found !== undefined) return found;
  throw unknownAgent(
    name,
    agents.map((agent) => agent.name),
    'this token may ask none.',
  );
};
