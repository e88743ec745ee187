// Resources of agents that bring their models and tools as objects: nothing to look up or to create.
import { CloisterError } from '#base';
import type { Agent, SessionResources, Model, SourceUse } from '#contracts';
import { startableAgents } from '#core/orchestration';

export const resourcesFromCode = (fallback: readonly Model[]): ((agent: Agent) => SessionResources) => {
  const known = new WeakMap<Agent, SessionResources>();
  return (agent) => {
    let resources = known.get(agent);
    if (resources === undefined) {
      const models = agent.resources.models as readonly Model[];
      resources = { models: models.length > 0 ? models : fallback, sources: codeSources(agent) };
      known.set(agent, resources);
    }
    return resources;
  };
};

export const codeSources = (agent: Agent): readonly SourceUse[] =>
  agent.resources.sources.map((source) => ({ source, only: null }));

/** Whether an agent names models or servers that the operator's config must define. */
export const needsConfig = ({ resources: { models, servers } }: Agent): boolean =>
  servers.length > 0 || models.some((model) => typeof model === 'string');

export const notLookedUp = ({ name }: Agent): CloisterError =>
  new CloisterError('agent_unknown', `"${name}" refers to models or servers in the config: pass it to openCloister.`);

/** These agents and all agents below them, each once. */
export const withChildren = (agents: readonly Agent[]): ReadonlySet<Agent> => {
  const all = new Set(agents);
  for (const agent of all) {
    for (const child of startableAgents(agent)) all.add(child);
    if (agent.children.compactor !== null) all.add(agent.children.compactor);
  }
  return all;
};
