// OpenAI, by either of its interfaces.
import { settingsFor, withOptions } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const openai: Vendor = async (connection) => {
  // Not the package's main entry: loading that makes a default provider, which reads OPENAI_BASE_URL and fails when it is empty.
  const { OpenAIChatLanguageModel, OpenAIResponsesLanguageModel } = await import('@ai-sdk/openai/internal');
  const { provider, modelId } = connection;
  const settings = settingsFor(connection, { authorization: `Bearer ${provider.apiKey}` });
  return {
    model:
      provider.api === 'chat'
        ? new OpenAIChatLanguageModel(modelId, { ...settings, provider: 'openai.chat' })
        : new OpenAIResponsesLanguageModel(modelId, { ...settings, provider: 'openai.responses' }),
    // Unstored, so that each request holds all of its turns in full, and reasoning comes encrypted to be given back.
    prepare: (call) =>
      withOptions(call, 'openai', { without: ['previousResponseId', 'conversation'], set: { store: false } }),
  };
};
