// What each vendor module provides: facts about its models, its model object, and how to transform calls and streams.
import { randomUUID } from 'node:crypto';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ResolvedProvider } from '#contracts';

export type ModelConnection = {
  readonly provider: ResolvedProvider;
  readonly modelId: string;
  readonly caching: 'full' | 'none';
  readonly fetch: typeof fetch;
};

export type ModelStreamParts = ReadableStream<LanguageModelV4StreamPart>;

export type VendorModel = {
  readonly model: LanguageModelV4;
  /** Changes a call before it is sent. The text of the prompt stays unchanged. */
  readonly prepare: (call: LanguageModelV4CallOptions) => LanguageModelV4CallOptions;
  readonly transformStream?: (parts: ModelStreamParts) => ModelStreamParts;
  /** Translates an error of the vendor's package. */
  readonly translateError?: (error: unknown) => unknown;
};

export type Vendor = {
  /** Its id in the price list. Local models and custom endpoints are not in it. */
  readonly priceList?: string;
  /** Whether a model takes the schema of an answer. Who runs a server of one's own says so in the config. */
  readonly structuredOutput?: (modelId: string) => boolean;
  /** Throws for a model name that cannot be sent. */
  readonly checkModel?: (provider: ResolvedProvider, modelId: string) => void;
  /** Loads the vendor's package and creates a new model object. */
  readonly connect: (connection: ModelConnection) => Promise<VendorModel>;
};

/** Settings for every vendor's model object. Without a key, its headers are omitted. */
export const vendorSettings = (
  { provider, fetch }: ModelConnection,
  keyHeaders: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> = {},
) => {
  const baseURL = provider.baseUrl.replace(/\/+$/u, '');
  // The operator's headers win: of names that differ only in case, the packages use the last.
  const headers = { ...(provider.apiKey === '' ? {} : keyHeaders), ...own, ...provider.headers };
  return {
    baseURL,
    url: ({ path }: { path: string }) => baseURL + path,
    headers: () => headers,
    fetch,
    generateId: () => randomUUID(),
  };
};

/** The call with these options of one vendor, and without options that rely on state stored on its server. */
export const withVendorOptions = (
  call: LanguageModelV4CallOptions,
  vendor: string,
  { without, set = {} }: { without: readonly string[]; set?: Readonly<Record<string, boolean | string>> },
): LanguageModelV4CallOptions => {
  const kept = Object.entries(call.providerOptions?.[vendor] ?? {}).filter(([name]) => !without.includes(name));
  return {
    ...call,
    providerOptions: { ...call.providerOptions, [vendor]: { ...Object.fromEntries(kept), ...set } },
  };
};
