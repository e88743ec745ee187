// Resources of agents that bring their models and tools as objects: nothing to look up or to create.
import { CloisterError } from '#base';
import type {
  Agent,
  SessionResources,
  Model,
  SourceUse,
  ModelSummary,
  Overlay,
  PassedOverModel,
  Redact,
} from '#contracts';
import { withKnownFacts } from '#adapters/models';
import { startableAgents } from '#core/orchestration';

/** Agents that can be run, and the resources for their sessions. */
export interface AgentResources {
  readonly agents: readonly Agent[];
  /** An agent defined in code, with the operator's marks for approval. Absent: no config is read. */
  withMarks?(agent: Agent): Agent;
  /**
   * Removes the secrets that nobody can guess and the weak ones of this agent's own overlay; without an agent, only the former.
   * `models`: those that forks gave the agent. Null when there are no such secrets.
   */
  redactFor(agent: Agent | null, models?: readonly string[]): Redact | null;
  /**
   * `model` replaces the agent's own models; it must have been prepared. `without`: its models that are left out; by default
   * those that cannot be used.
   */
  resourcesFor(agent: Agent, model?: string, without?: readonly string[]): SessionResources;
  /** The models that `resourcesFor` would create. Throws if they were not looked up. */
  modelsOf(agent: Agent): readonly ModelSummary[];
  /** The agent's models that cannot be used, because variables have no value; undefined: none. */
  passedOver?(agent: Agent): readonly PassedOverModel[] | undefined;
  /** The frontmatter of an agent's file, as `Cloister.template` returns it. Absent, or null: it was not read from an agent file. */
  template?(agent: Agent): string | null;
  /** The context size of an agent's first model, if known. Creates no provider. */
  contextTokens?(agent: Agent): number | undefined;
  /** Looks up a model that the agent's definition does not name. `allowMissingVariables`: even if its variables have no value. */
  prepare(agent: Agent, model: string, options?: { readonly allowMissingVariables?: boolean }): Promise<void>;
  // Absent where no config names a variable:
  /** For one run: the same with these values of variables before those of the config. Nothing here changes. */
  withEnv?(env: Overlay): AgentResources;
  /** Throws `env_missing` if the agent, or one below it, cannot run without variables that have no value. */
  checkVariables?(agent: Agent): void;
  /** Which variables of `withEnv` these agents and those below them use. */
  ownVariables?(agents: readonly Agent[]): readonly string[];
}

export const resourcesFromCode = (fallback: readonly Model[]): ((agent: Agent) => SessionResources) => {
  const known = new WeakMap<Agent, SessionResources>();
  return (agent) => {
    let resources = known.get(agent);
    if (resources === undefined) {
      const models = agent.resources.models as readonly Model[];
      const used = models.length > 0 ? models : fallback;
      resources = { models: used.map(withKnownFacts), sources: codeSources(agent) };
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
