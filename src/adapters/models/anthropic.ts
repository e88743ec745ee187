// Anthropic, through its Messages API.
import type { LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import {
  isClosedSchema,
  schemaOf,
  withoutSchema,
  vendorSettings,
  withVendorOptions,
  thinkingBudget,
} from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const anthropic: Vendor = {
  priceList: 'anthropic',
  attachments: ['image/*', 'application/pdf'],
  structuredOutput: (modelId) => /claude-(?!\d|instant|(?:opus|sonnet)-4(?:$|@|-0|-\d{8}))/u.test(modelId),
  connect: async (connection) => {
    // Not the package's main entry: that creates a default provider, which reads ANTHROPIC_BASE_URL and fails when it is empty.
    const { AnthropicLanguageModel, getModelCapabilities } = await import('@ai-sdk/anthropic/internal');
    const { provider, modelId, caching } = connection;
    const { supportsAdaptiveThinking } = getModelCapabilities(modelId);
    const settings = vendorSettings(
      connection,
      { 'x-api-key': provider.apiKey },
      { 'anthropic-version': '2023-06-01' },
    );
    return {
      model: new AnthropicLanguageModel(modelId, { ...settings, provider: 'anthropic.messages' }),
      prepare: (given) => {
        const schema = schemaOf(given);
        const isEnforced = schema !== undefined && isClosedSchema(schema);
        // Without this, the package would turn an open schema into a tool and force the model to call one in every turn.
        const call = schema === undefined || isEnforced ? given : withoutSchema(given);
        const own = withVendorOptions(call, 'anthropic', {
          without: ['thread', 'container'],
          ...(isEnforced ? { set: { structuredOutputMode: 'outputFormat' } } : {}),
        });
        const prepared = supportsAdaptiveThinking ? own : withThinkingInside(own);
        return caching === 'full' ? { ...prepared, prompt: withCacheMarks(prepared.prompt) } : prepared;
      },
    };
  },
};

/** The least that the API accepts. */
const thinkingTokensMin = 1_024;

/** Older models take a number of tokens for thinking, which the package adds to the maximum. */
const withThinkingInside = (call: LanguageModelV4CallOptions): LanguageModelV4CallOptions => {
  const own = call.providerOptions?.['anthropic'] ?? {};
  const budgetTokens = thinkingBudget(call, { min: thinkingTokensMin, max: Infinity });
  if (budgetTokens === undefined || own['thinking'] !== undefined) return call;
  const thinking = budgetTokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens };
  return {
    ...call,
    maxOutputTokens: call.maxOutputTokens! - budgetTokens,
    providerOptions: { ...call.providerOptions, anthropic: { ...own, thinking } },
  };
};

/** Sets two cache marks: after the system prompt, which every session of the agent starts with, and at the end, for the next turn. */
const withCacheMarks = (prompt: LanguageModelV4Prompt): LanguageModelV4Prompt => {
  const system = prompt.findLastIndex(({ role }) => role === 'system');
  return prompt.map((message, at) => (at === system || at === prompt.length - 1 ? withCacheMark(message) : message));
};

const withCacheMark = (message: LanguageModelV4Message): LanguageModelV4Message => ({
  ...message,
  providerOptions: {
    ...message.providerOptions,
    anthropic: { cacheControl: { type: 'ephemeral' }, ...message.providerOptions?.['anthropic'] },
  },
});
