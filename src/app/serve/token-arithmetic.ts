// Adds and subtracts the tokens spent by the requests of a run.
import type { SpentTokens } from '#contracts';

export const zeroTokens: SpentTokens = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

export const addTokens = (one: SpentTokens, other: SpentTokens): SpentTokens => ({
  inputTokens: one.inputTokens + other.inputTokens,
  cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
  cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

export const subtractTokens = (all: SpentTokens, reported: SpentTokens): SpentTokens => ({
  inputTokens: Math.max(0, all.inputTokens - reported.inputTokens),
  cacheReadTokens: Math.max(0, all.cacheReadTokens - reported.cacheReadTokens),
  cacheWriteTokens: Math.max(0, all.cacheWriteTokens - reported.cacheWriteTokens),
  outputTokens: Math.max(0, all.outputTokens - reported.outputTokens),
});
