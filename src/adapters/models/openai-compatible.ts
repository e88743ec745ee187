// OpenRouter, Ollama, and other servers with OpenAI's Chat Completions API.
import { restoreReasoningDetails, extractReasoningDetails } from './reasoning-details.ts';
import { vendorSettings } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const openaiCompatible: Vendor = async (connection) => {
  const { OpenAICompatibleChatLanguageModel } = await import('@ai-sdk/openai-compatible');
  const { provider, modelId } = connection;
  const model = new OpenAICompatibleChatLanguageModel(modelId, {
    ...vendorSettings(connection, { authorization: `Bearer ${provider.apiKey}` }),
    provider: `${metadataNames[provider.type] ?? 'compatible'}.chat`,
    includeUsage: true,
  });
  return provider.type === 'openrouter'
    ? { model, prepare: restoreReasoningDetails, transformStream: extractReasoningDetails }
    : { model, prepare: (call) => call };
};

/** The name under which the vendor's package stores its metadata; never the operator's provider name, which is arbitrary. */
const metadataNames: Readonly<Record<string, string>> = { openrouter: 'openrouter', ollama: 'ollama' };
