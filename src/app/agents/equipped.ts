import type { Agent, Equipment, Redact } from '#contracts';

/** Agents that can be run, and what their sessions are given. */
export interface Equipped {
  readonly agents: readonly Agent[];
  /** Null when nothing is secret. */
  readonly redact: Redact | null;
  /** `model`: instead of its own, prepared before. */
  equip(agent: Agent, model?: string): Equipment;
  /** Looks a model up that an agent does not name itself. */
  prepare(agent: Agent, model: string): Promise<void>;
}
