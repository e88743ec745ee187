import type { Agent, SessionResources, Redact } from '#contracts';

/** Agents that can be run, and what their sessions are given. */
export interface AgentResources {
  readonly agents: readonly Agent[];
  /** Null when nothing is secret. */
  readonly redact: Redact | null;
  /** `model`: instead of its own, prepared before. */
  equip(agent: Agent, model?: string): SessionResources;
  /** The context of the model that an agent asks first, as far as it is known; no provider is made for it. */
  contextTokens?(agent: Agent): number | undefined;
  /** Looks a model up that an agent does not name itself. */
  prepare(agent: Agent, model: string): Promise<void>;
}
