import type { Agent, SessionResources, Redact } from '#contracts';

/** Agents that can be run, and the resources for their sessions. */
export interface AgentResources {
  readonly agents: readonly Agent[];
  /** Null when there are no secrets. */
  readonly redact: Redact | null;
  /** `model` replaces the agent's own models; it must have been prepared. */
  resourcesFor(agent: Agent, model?: string): SessionResources;
  /** The context size of an agent's first model, if known. Creates no provider. */
  contextTokens?(agent: Agent): number | undefined;
  /** Looks up a model that the agent's definition does not name. */
  prepare(agent: Agent, model: string): Promise<void>;
}
