// Google's Gemini models, through `generateContent`.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { CloisterError } from '#base';
import { schemaOf, withoutSchema, vendorSettings, withVendorOptions, thinkingBudget } from './vendor.ts';
import type { Vendor } from './vendor.ts';

export const google: Vendor = {
  priceList: 'google',
  attachments: ['image/*', 'audio/*', 'video/*', 'application/pdf'],
  structuredOutput: (modelId) => /gemini-(?!1)/u.test(modelId),
  // The model name is part of the URL: it must not lead elsewhere on that host.
  checkModel: ({ name }, modelId) => {
    if (!/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/u.test(modelId))
      throw new CloisterError('model_unknown', `${name}/${modelId} is not a valid Google model name.`);
  },
  connect: async (connection) => {
    const { GoogleLanguageModel, getGoogleLanguageModelEntry } = await import('@ai-sdk/google/internal');
    const { provider, modelId } = connection;
    const { capabilities, requestConfig } = getGoogleLanguageModelEntry(modelId);
    const { minBudget, maxBudget } = capabilities.language.reasoning;
    const takesTokens = requestConfig.language.thinkingFormat !== 'level';
    const settings = vendorSettings(connection, { 'x-goog-api-key': provider.apiKey });
    return {
      model: new GoogleLanguageModel(modelId, { ...settings, provider: 'google.generative-ai' }),
      prepare: (call) => {
        // For models before Gemini 3, the package would force a tool call in every turn.
        const isForced =
          schemaOf(call) !== undefined && (call.tools ?? []).length > 0 && !/gemini-(?!2)/u.test(modelId);
        const without = ['cachedContent', 'continuationToken'];
        const own = withVendorOptions(isForced ? withoutSchema(call) : call, 'google', { without });
        return takesTokens ? withThinkingBudget(own, { min: minBudget, max: maxBudget }) : own;
      },
      translateError: withRetryAfter,
    };
  },
};

/** Newer models take a level instead. */
const withThinkingBudget = (
  call: LanguageModelV4CallOptions,
  bounds: { readonly min: number; readonly max: number },
): LanguageModelV4CallOptions => {
  const own = call.providerOptions?.['google'] ?? {};
  const budget = thinkingBudget(call, bounds);
  if (budget === undefined || own['thinkingConfig'] !== undefined) return call;
  const thinkingConfig = { thinkingBudget: Math.max(budget, bounds.min) };
  return { ...call, providerOptions: { ...call.providerOptions, google: { ...own, thinkingConfig } } };
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
