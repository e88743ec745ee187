import type { Agent } from '#contracts';
import { resolveLimits } from '#core/registry';
import type { CellLimits } from '#core/registry';

/** Resolved once for each agent: all of its cells share them. */
export const limitsOf = (agent: Agent, isRoot: boolean): CellLimits => {
  const cache = isRoot ? rootCache : childCache;
  let limits = cache.get(agent);
  if (limits === undefined) {
    limits = Object.freeze(resolveLimits(agent.caps.limits, isRoot));
    cache.set(agent, limits);
  }
  return limits;
};

const rootCache = new WeakMap<Agent, CellLimits>();
const childCache = new WeakMap<Agent, CellLimits>();

/** How many bytes of one result are shown: four bytes per token. */
export const shownBytesMax = (limits: CellLimits): number => limits.max_tokens_per_step * 4;
