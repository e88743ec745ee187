// Equipment of agents that bring everything along as objects: there is nothing to look up or to make anew.
import type { Agent, SessionResources, Model, SourceUse } from '#contracts';

export const resourcesFromCode = (fallback: readonly Model[]): ((agent: Agent) => SessionResources) => {
  const known = new WeakMap<Agent, SessionResources>();
  return (agent) => {
    let equipment = known.get(agent);
    if (equipment === undefined) {
      const models = agent.models as readonly Model[];
      equipment = { models: models.length > 0 ? models : fallback, sources: codeSources(agent) };
      known.set(agent, equipment);
    }
    return equipment;
  };
};

export const codeSources = (agent: Agent): readonly SourceUse[] =>
  agent.sources.map((source) => ({ source, only: null }));

/** Whether an agent names models or servers that the operator's config must define. */
export const namesAny = ({ models, servers }: Agent): boolean =>
  servers.length > 0 || models.some((model) => typeof model === 'string');

/** Each once, those below too. */
export const withChildren = (agents: readonly Agent[]): ReadonlySet<Agent> => {
  const all = new Set(agents);
  for (const agent of all) {
    for (const child of [...agent.agents, ...agent.spawnable]) all.add(child);
    if (agent.compactor !== null) all.add(agent.compactor);
    for (const member of agent.members) all.add(member);
    if (agent.coordinator !== null) all.add(agent.coordinator.plans).add(agent.coordinator.answers);
  }
  return all;
};
