// A model of a configured provider, as an object that costs nothing until it is asked.
//
//   P1. Each object makes its own vendor object, with the key it was given: sessions share no connection state.
//   P2. No vendor's code looks for a key or an address itself: nothing of the process environment is used.
//   P3. A key goes to its base URL only: redirects are refused.
//   P4. The vendor's server is asked to remember nothing: every request holds its whole conversation.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ResolvedProvider } from '#contracts';
import { anthropic } from './anthropic.ts';
import { checkConnection } from './check-connection.ts';
import { compatible } from './openai-compatible.ts';
import { google } from './google.ts';
import { openai } from './openai.ts';
import type { VendorModel, Vendor } from './vendor.ts';
import { requireCompleteStream } from './complete-stream.ts';

export type ConnectOptions = {
  /** `full`: mark the prompt for the vendor's cache where it wants marks (Anthropic); elsewhere nothing differs. */
  readonly caching?: 'full' | 'none';
  readonly fetch?: typeof fetch;
};

const vendors: Readonly<Record<ResolvedProvider['type'], Vendor>> = {
  openai,
  anthropic,
  google,
  openrouter: compatible,
  ollama: compatible,
  'openai-compatible': compatible,
};

/** Throws when the provider cannot be used as configured; the vendor's package is loaded by the first call. */
export const connectModel = (
  provider: ResolvedProvider,
  modelId: string,
  options: ConnectOptions = {},
): LanguageModelV4 => {
  checkConnection(provider, modelId);
  const { caching = 'none', fetch: send = fetch } = options;
  const connection = {
    provider,
    modelId,
    caching,
    fetch: (to: Parameters<typeof fetch>[0], init?: RequestInit) => send(to, { ...init, redirect: 'error' }),
  };
  let opened: Promise<VendorModel> | undefined;
  const open = (): Promise<VendorModel> => (opened ??= vendors[provider.type](connection));
  return {
    specificationVersion: 'v4',
    provider: provider.name,
    modelId,
    supportedUrls: {},
    async doGenerate(call) {
      const { model, prepare, failed } = await open();
      return translated(failed, () => model.doGenerate(prepare(call)));
    },
    async doStream(call) {
      const { model, prepare, read, failed } = await open();
      const result = await translated(failed, () => model.doStream(prepare(call)));
      return { ...result, stream: requireCompleteStream(read === undefined ? result.stream : read(result.stream)) };
    },
  };
};

const translated = async <T>(failed: VendorModel['failed'], work: () => PromiseLike<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw failed === undefined ? error : failed(error);
  }
};
