import type { Agent, Limits } from '#contracts';

export type CellLimits = Required<Limits>;

/** The seed document's defaults for child cells. */
const childLimits = {
  max_steps: 20,
  max_tokens_per_step: 2_000,
  max_output_files: 10,
  max_output_size_bytes: 1_000_000,
  timeout_ms: 60_000,
  mailTimeout: 600_000,
};

/** A root is limited only by its budget, but the shown part of one result is bounded here too. */
const rootLimits = {
  max_steps: Infinity,
  max_tokens_per_step: 4_000,
  max_output_files: Infinity,
  max_output_size_bytes: Infinity,
  timeout_ms: Infinity,
  mailTimeout: Infinity,
};

const sessionLimits = {
  maxToolTurns: 10,
  llmTimeout: 120_000,
  toolTimeout: 60_000,
  maxRetries: 2,
  maxToolCallsPerTurn: 50,
  parallelToolCalls: 4,
  maxHops: 100,
  answersPerMinute: 60,
  /** 0: the model's own maximum, or 8,192 if it has none. */
  maxOutputTokens: 0,
  /** 0: the model's own window. */
  contextTokensMax: 0,
};

/** Depends on the definition alone, never on a balance or on another cell. */
export const resolveLimits = (agent: Agent, isRoot: boolean): CellLimits => {
  const cache = isRoot ? rootCache : childCache;
  let limits = cache.get(agent);
  if (limits === undefined) {
    limits = Object.freeze({ ...sessionLimits, ...(isRoot ? rootLimits : childLimits), ...agent.limits });
    cache.set(agent, limits);
  }
  return limits;
};

const rootCache = new WeakMap<Agent, CellLimits>();
const childCache = new WeakMap<Agent, CellLimits>();

/** How many bytes of one result are shown: four bytes per token. */
export const shownBytesMax = (limits: CellLimits): number => limits.max_tokens_per_step * 4;
