// Google's Gemini models, by `generateContent`.
import { settingsFor, withOptions } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const google: Vendor = async (connection) => {
  const { GoogleLanguageModel } = await import('@ai-sdk/google/internal');
  const { provider, modelId } = connection;
  const settings = settingsFor(connection, { 'x-goog-api-key': provider.apiKey });
  return {
    model: new GoogleLanguageModel(modelId, { ...settings, provider: 'google.generative-ai' }),
    prepare: (call) => withOptions(call, 'google', { without: ['cachedContent', 'continuationToken'] }),
    failed: withRetryAfter,
  };
};

/** Google says in the body how long to wait; everyone else has a header for it. */
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
