// Anthropic's messages.
import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { settingsFor, withOptions } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const anthropic: Vendor = async (connection) => {
  // Not the package's main entry: loading that makes a default provider, which reads ANTHROPIC_BASE_URL and fails when it is empty.
  const { AnthropicLanguageModel } = await import('@ai-sdk/anthropic/internal');
  const { provider, modelId, caching } = connection;
  const settings = settingsFor(connection, { 'x-api-key': provider.apiKey }, { 'anthropic-version': '2023-06-01' });
  return {
    model: new AnthropicLanguageModel(modelId, { ...settings, provider: 'anthropic.messages' }),
    prepare: (call) => {
      const prepared = withOptions(call, 'anthropic', { without: ['thread', 'container'] });
      return caching === 'full' ? { ...prepared, prompt: cached(prepared.prompt) } : prepared;
    },
  };
};

/** Two marks: after the system prompt, which every session of the agent begins with, and at the end, for the next turn. */
const cached = (prompt: LanguageModelV4Prompt): LanguageModelV4Prompt => {
  const system = prompt.findLastIndex(({ role }) => role === 'system');
  return prompt.map((message, at) => (at === system || at === prompt.length - 1 ? marked(message) : message));
};

const marked = (message: LanguageModelV4Message): LanguageModelV4Message => ({
  ...message,
  providerOptions: {
    ...message.providerOptions,
    anthropic: { cacheControl: { type: 'ephemeral' }, ...message.providerOptions?.['anthropic'] },
  },
});
