import type { Agent, ModelSummary, PassedOverModel, SessionResources, Redact } from '#contracts';

/** Agents that can be run, and the resources for their sessions. */
export interface AgentResources {
  readonly agents: readonly Agent[];
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
  /** The context size of an agent's first model, if known. Creates no provider. */
  contextTokens?(agent: Agent): number | undefined;
  /** Looks up a model that the agent's definition does not name. */
  prepare(agent: Agent, model: string): Promise<void>;
}
