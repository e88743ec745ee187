// A model of a configured provider, as an object that costs nothing until its first call.
//
//   model-own-vendor-object. Each object creates its own vendor object with its own key: sessions share no connection state.
//   model-key-from-config. Vendor code never looks up a key or a URL itself: the process environment is not used.
//   model-key-only-to-its-url. A key is sent only to its base URL: redirects are refused.
//   model-vendor-stores-nothing. The vendor's server is not asked to store anything: every request contains its whole
//       conversation.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ResolvedProvider } from '#contracts';
import { checkConnection } from './check-connection.ts';
import type { VendorModel } from './vendor.ts';
import { vendorCode } from './vendors.ts';
import { requireCompleteStream } from './complete-stream.ts';

type ConnectOptions = {
  /** `full`: mark the prompt for the vendor's cache where marks are needed (Anthropic); no effect elsewhere. */
  readonly caching?: 'full' | 'none';
  readonly fetch?: typeof fetch;
};

/** Throws when the provider's configuration is invalid; the vendor's package is loaded by the first call. */
export const connectModel = (
  provider: ResolvedProvider,
  modelId: string,
  options: ConnectOptions = {},
): LanguageModelV4 => {
  checkConnection(provider, modelId);
  const vendor = vendorCode[provider.type];
  vendor.checkModel?.(provider, modelId);
  const { caching = 'none', fetch: send = fetch } = options;
  const connection = {
    provider,
    modelId,
    caching,
    fetch: (to: Parameters<typeof fetch>[0], init?: RequestInit) => send(to, { ...init, redirect: 'error' }),
  };
  let opened: Promise<VendorModel> | undefined;
  const open = (): Promise<VendorModel> => (opened ??= vendor.connect(connection));
  return {
    specificationVersion: 'v4',
    provider: provider.name,
    modelId,
    supportedUrls: {},
    async doGenerate(call) {
      const { model, prepare, translateError } = await open();
      return withTranslatedErrors(translateError, () => model.doGenerate(prepare(call)));
    },
    async doStream(call) {
      const { model, prepare, transformStream, translateError } = await open();
      const result = await withTranslatedErrors(translateError, () => model.doStream(prepare(call)));
      return {
        ...result,
        stream: requireCompleteStream(transformStream === undefined ? result.stream : transformStream(result.stream)),
      };
    },
  };
};

const withTranslatedErrors = async <T>(
  translateError: VendorModel['translateError'],
  work: () => PromiseLike<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw translateError === undefined ? error : translateError(error);
  }
};
