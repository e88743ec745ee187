// OpenRouter, Ollama, and other servers with OpenAI's Chat Completions API.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { withoutSchema } from './closed-schema.ts';
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
    supportsStructuredOutputs: true,
  });
  return provider.type === 'openrouter'
    ? {
        model,
        prepare: (call) => restoreReasoningDetails(withOneSystemMessage(call)),
        transformStream: extractReasoningDetails,
      }
    : {
        model,
        // Local servers apply a schema to every token, so that the model could no longer call its tools.
        prepare: (call) =>
          withOneSystemMessage(
            (call.tools ?? []).length > 0 && call.responseFormat !== undefined ? withoutSchema(call) : call,
          ),
      };
};

/** Many local servers accept only one system message, and a prompt that a caller shares is a second one. */
const withOneSystemMessage = <C extends { readonly prompt: LanguageModelV4Prompt }>(call: C): C => {
  const system = call.prompt.flatMap((message) => (message.role === 'system' ? [message.content] : []));
  if (system.length < 2) return call;
  const rest = call.prompt.filter(({ role }) => role !== 'system');
  return { ...call, prompt: [{ role: 'system', content: system.join('\n\n') }, ...rest] };
};

/** The name under which the vendor's package stores its metadata; never the operator's provider name, which is arbitrary. */
const metadataNames: Readonly<Record<string, string>> = { openrouter: 'openrouter', ollama: 'ollama' };
