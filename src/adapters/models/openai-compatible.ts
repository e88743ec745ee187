// Ollama, and other servers with OpenAI's Chat Completions API.
import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { withoutSchema, vendorSettings } from './vendor.ts';
import type { ModelConnection, Vendor } from './vendor.ts';

/** `name`: under which the package stores its metadata; never the operator's provider name, which is arbitrary. */
export const compatibleModel = async (connection: ModelConnection, name: string): Promise<LanguageModelV4> => {
  const { OpenAICompatibleChatLanguageModel } = await import('@ai-sdk/openai-compatible');
  return new OpenAICompatibleChatLanguageModel(connection.modelId, {
    ...vendorSettings(connection, { authorization: `Bearer ${connection.provider.apiKey}` }),
    provider: `${name}.chat`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
};

const localServer = (name: string): Vendor => ({
  connect: async (connection) => ({
    model: await compatibleModel(connection, name),
    // Local servers apply a schema to every token, so that the model could no longer call its tools.
    prepare: (call) =>
      withOneSystemMessage(
        (call.tools ?? []).length > 0 && call.responseFormat !== undefined ? withoutSchema(call) : call,
      ),
  }),
});

export const ollama: Vendor = localServer('ollama');
export const openaiCompatible: Vendor = localServer('compatible');

/** Many local servers accept only one system message, and a prompt that a caller shares is a second one. */
export const withOneSystemMessage = <C extends { readonly prompt: LanguageModelV4Prompt }>(call: C): C => {
  const system = call.prompt.flatMap((message) => (message.role === 'system' ? [message.content] : []));
  if (system.length < 2) return call;
  const rest = call.prompt.filter(({ role }) => role !== 'system');
  return { ...call, prompt: [{ role: 'system', content: system.join('\n\n') }, ...rest] };
};
