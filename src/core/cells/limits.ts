import type { Agent, Limits } from '#contracts';

export type CellLimits = Required<Limits>;

/** The document's defaults for child cells. */
const childLimits = {
  max_steps: 20,
  max_tokens_per_step: 2_000,
  max_output_files: 10,
  max_output_size_bytes: 1_000_000,
  timeout_ms: 60_000,
};

/** A root has none but its budget; what it is shown of one result is bounded all the same. */
const rootLimits = {
  max_steps: Infinity,
  max_tokens_per_step: 4_000,
  max_output_files: Infinity,
  max_output_size_bytes: Infinity,
  timeout_ms: Infinity,
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
  /** 0: the model's own, else 8,192. */
  maxOutputTokens: 0,
  /** 0: the model's own. */
  contextTokensMax: 0,
};

/** From the definition alone: never from a balance or from another cell. */
export const limitsOf = (agent: Agent, isRoot: boolean): CellLimits => {
  const known = isRoot ? rootCache : childCache;
  let limits = known.get(agent);
  if (limits === undefined) {
    limits = Object.freeze({ ...sessionLimits, ...(isRoot ? rootLimits : childLimits), ...agent.limits });
    known.set(agent, limits);
  }
  return limits;
};

const rootCache = new WeakMap<Agent, CellLimits>();
const childCache = new WeakMap<Agent, CellLimits>();

/** How many bytes of one result are shown: four to a token. */
export const shownBytesMax = (limits: CellLimits): number => limits.max_tokens_per_step * 4;
