// Agents with the operator's marks for approval, as a Cloister with a config takes those that are defined in code.
//
//   marked-with-children. An agent that gets marks contains marked agents: those that it calls, spawns or has as members. A
//       definition, its digest and what is run are those of the same object.
import { isSameJson } from '#base';
import type { Agent, ApprovalMarks } from '#contracts';
import { addMarks } from '#core/rules';
import { completeDefinition, startableAgents } from './define-agent.ts';
import { agentsChildrenFirst, withStartable } from './replace-agents.ts';

/** `marksOf`: the operator's marks for an agent. Returns a function that gives the same object for the same agent. */
export const agentMarker = (marksOf: (agent: Agent) => ApprovalMarks): ((agent: Agent) => Agent) => {
  const marked = new WeakMap<Agent, Agent>();
  const replace = (agent: Agent): Agent => marked.get(agent) ?? agent;
  return (given) => {
    const unmarkedBelow = (agent: Agent): readonly Agent[] => (marked.has(agent) ? [] : startableAgents(agent));
    for (const agent of agentsChildrenFirst([given], unmarkedBelow)) {
      if (marked.has(agent)) continue;
      const below = startableAgents(agent).every((one) => replace(one) === one) ? agent : withStartable(agent, replace);
      const one = markAgent(below, marksOf(agent));
      marked.set(agent, one);
      // What was marked needs no marks when it comes again.
      marked.set(one, one);
    }
    return replace(given);
  };
};

const markAgent = (agent: Agent, marks: ApprovalMarks): Agent => {
  const approve = addMarks(agent.permissions.approve, marks);
  if (isSameJson(approve, agent.permissions.approve)) return agent;
  return completeDefinition({ ...agent, permissions: { ...agent.permissions, approve } });
};
