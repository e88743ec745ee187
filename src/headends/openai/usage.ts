// The usage of a whole run, including its sub-agents.
import type { JsonObject } from '#base';
import type { SpentTokens } from '#contracts';

export const chatUsage = (spent: SpentTokens): JsonObject => ({
  prompt_tokens: spent.inputTokens,
  completion_tokens: spent.outputTokens,
  total_tokens: spent.inputTokens + spent.outputTokens,
  prompt_tokens_details: { cached_tokens: spent.cacheReadTokens, cache_write_tokens: spent.cacheWriteTokens },
});

export const responseUsage = (spent: SpentTokens): JsonObject => ({
  input_tokens: spent.inputTokens,
  input_tokens_details: { cached_tokens: spent.cacheReadTokens, cache_write_tokens: spent.cacheWriteTokens },
  output_tokens: spent.outputTokens,
  // Reasoning tokens are not counted separately, but clients need the field.
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: spent.inputTokens + spent.outputTokens,
});
