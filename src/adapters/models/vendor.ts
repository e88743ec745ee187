// What each vendor's file gives: its own model object, and what to do with calls and streams on the way.
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
  /** What the vendor is sent instead. The prompt's text stays as it is. */
  readonly prepare: (call: LanguageModelV4CallOptions) => LanguageModelV4CallOptions;
  readonly read?: (parts: ModelStreamParts) => ModelStreamParts;
  /** What is thrown instead of what the vendor's package threw. */
  readonly failed?: (error: unknown) => unknown;
};

/** Loads the vendor's package and makes one new model object. */
export type Vendor = (connection: ModelConnection) => Promise<VendorModel>;

/** What every vendor's model object is made of. Without a key, the headers that would carry it are left out. */
export const settingsFor = (
  { provider, fetch }: ModelConnection,
  keyHeaders: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> = {},
) => {
  const baseURL = provider.baseUrl.replace(/\/+$/u, '');
  // The operator's own headers win: the packages take the last of those whose names differ in case only.
  const headers = { ...(provider.apiKey === '' ? {} : keyHeaders), ...own, ...provider.headers };
  return {
    baseURL,
    url: ({ path }: { path: string }) => baseURL + path,
    headers: () => headers,
    fetch,
    generateId: () => randomUUID(),
  };
};

/** The call with these options of one vendor's, and without those that would lean on what its server remembers. */
export const withOptions = (
  call: LanguageModelV4CallOptions,
  vendor: string,
  { without, set = {} }: { without: readonly string[]; set?: Readonly<Record<string, boolean>> },
): LanguageModelV4CallOptions => {
  const given = Object.entries(call.providerOptions?.[vendor] ?? {}).filter(([name]) => !without.includes(name));
  return {
    ...call,
    providerOptions: { ...call.providerOptions, [vendor]: { ...Object.fromEntries(given), ...set } },
  };
};
