// Google's Gemini models, through `generateContent`.
import { schemaOf, withoutSchema } from './closed-schema.ts';
import { vendorSettings, withVendorOptions } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const google: Vendor = async (connection) => {
  const { GoogleLanguageModel } = await import('@ai-sdk/google/internal');
  const { provider, modelId } = connection;
  const settings = vendorSettings(connection, { 'x-goog-api-key': provider.apiKey });
  return {
    model: new GoogleLanguageModel(modelId, { ...settings, provider: 'google.generative-ai' }),
    prepare: (call) => {
      // For models before Gemini 3, the package would force a tool call in every turn.
      const isForced = schemaOf(call) !== undefined && (call.tools ?? []).length > 0 && !/gemini-(?!2)/u.test(modelId);
      const without = ['cachedContent', 'continuationToken'];
      return withVendorOptions(isForced ? withoutSchema(call) : call, 'google', { without });
    },
    translateError: withRetryAfter,
  };
};

/** Google sends the retry delay in the body; all others send a header. */
const withRetryAfter = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const { responseBody, responseHeaders } = error as {
    responseBody?: string;
    responseHeaders?: Record<string, string>;
  };
  const [, seconds] = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/u.exec(responseBody ?? '') ?? [];
  return seconds === undefined
    ? error
    : Object.assign(error, { responseHeaders: { 'retry-after': seconds, ...responseHeaders } });
};
