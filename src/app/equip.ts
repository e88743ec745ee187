// What each session works with: models and tool sources of its own.
import { CloisterError } from '#base';
import type { Agent, Equipment, Model, SourceUse } from '#contracts';

/** For agents in code that bring objects along: the same for every session, for there is nothing to make anew. */
export const equipWith = (fallback: readonly Model[]): ((agent: Agent) => Equipment) => {
  const known = new WeakMap<Agent, Equipment>();
  return (agent) => {
    let equipment = known.get(agent);
    if (equipment === undefined) {
      const models = agent.models.map((model) => {
        if (typeof model === 'string') throw new CloisterError('provider_unknown', model);
        return model;
      });
      const sources = agent.sources.map((source): SourceUse => ({ source, only: null }));
      equipment = { models: models.length > 0 ? models : fallback, sources };
      known.set(agent, equipment);
    }
    return equipment;
  };
};
