// OpenRouter, Ollama, and whatever else speaks OpenAI's chat completions.
import { restoreReasoningDetails, extractReasoningDetails } from './reasoning-details.ts';
import { settingsFor } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const compatible: Vendor = async (connection) => {
  const { OpenAICompatibleChatLanguageModel } = await import('@ai-sdk/openai-compatible');
  const { provider, modelId } = connection;
  const model = new OpenAICompatibleChatLanguageModel(modelId, {
    ...settingsFor(connection, { authorization: `Bearer ${provider.apiKey}` }),
    provider: `${names[provider.type] ?? 'compatible'}.chat`,
    includeUsage: true,
  });
  return provider.type === 'openrouter'
    ? { model, prepare: restoreReasoningDetails, read: extractReasoningDetails }
    : { model, prepare: (call) => call };
};

/** The name by which the vendor's package files its metadata: never the operator's, which may be any. */
const names: Readonly<Record<string, string>> = { openrouter: 'openrouter', ollama: 'ollama' };
