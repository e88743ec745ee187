// Tokens that requests of one run spent, apart and together.
import type { SpentTokens } from '#contracts';

export const zeroTokens: SpentTokens = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

export const addTokens = (one: SpentTokens, other: SpentTokens): SpentTokens => ({
  inputTokens: one.inputTokens + other.inputTokens,
  cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
  cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

export const subtractTokens = (all: SpentTokens, told: SpentTokens): SpentTokens => ({
  inputTokens: Math.max(0, all.inputTokens - told.inputTokens),
  cacheReadTokens: Math.max(0, all.cacheReadTokens - told.cacheReadTokens),
  cacheWriteTokens: Math.max(0, all.cacheWriteTokens - told.cacheWriteTokens),
  outputTokens: Math.max(0, all.outputTokens - told.outputTokens),
});
