// OpenAI, through its Responses API or its Chat Completions API.
import { isClosedSchema, schemaOf, vendorSettings, withVendorOptions } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const openai: Vendor = {
  priceList: 'openai',
  attachments: ['image/*', 'application/pdf'],
  structuredOutput: (modelId) => !/^(?:gpt-3|gpt-4(?:$|-\d|-turbo)|o1-(?:mini|preview))/u.test(modelId),
  connect: async (connection) => {
    // Not the package's main entry: that creates a default provider, which reads OPENAI_BASE_URL and fails when it is empty.
    const { OpenAIChatLanguageModel, OpenAIResponsesLanguageModel } = await import('@ai-sdk/openai/internal');
    const { provider, modelId } = connection;
    const settings = vendorSettings(connection, { authorization: `Bearer ${provider.apiKey}` });
    return {
      model:
        provider.api === 'chat'
          ? new OpenAIChatLanguageModel(modelId, { ...settings, provider: 'openai.chat' })
          : new OpenAIResponsesLanguageModel(modelId, { ...settings, provider: 'openai.responses' }),
      // `store: false`, so that each request contains all of its turns, and reasoning comes encrypted to be sent back.
      prepare: (call) => {
        const schema = schemaOf(call);
        // In strict mode, OpenAI enforces the schema, but refuses most schemas.
        const strict: Record<string, boolean> =
          schema === undefined ? {} : { strictJsonSchema: isClosedSchema(schema) };
        return withVendorOptions(call, 'openai', {
          without: ['previousResponseId', 'conversation'],
          set: { store: false, ...strict },
        });
      },
    };
  },
};
