// A model of a configured provider, as an object that costs nothing until its first call.
//
//   model-own-vendor-object. Each object creates its own vendor object with its own key: sessions share no connection state.
//   model-key-from-config. Vendor code never looks up a key or a URL itself: the process environment is not used.
//   model-key-only-to-its-url. A key is sent only to its base URL: redirects are refused.
//   model-vendor-stores-nothing. The vendor's server is not asked to store anything: every request contains its whole
//       conversation.
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { CloisterError } from '#base';
import type { ResolvedProvider } from '#contracts';
import type { VendorModel, ModelStreamParts } from './vendor.ts';
import { PlainReply, refusePlainReply, streamOf } from './plain-reply.ts';
import { vendorCode } from './vendors.ts';

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
  let streaming: Promise<VendorModel> | undefined;
  const openStreaming = (): Promise<VendorModel> =>
    (streaming ??= vendor.connect({
      ...connection,
      fetch: async (...request) => refusePlainReply(await connection.fetch(...request)),
    }));
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
      const { model, prepare, transformStream, translateError } = await openStreaming();
      try {
        const result = await withTranslatedErrors(translateError, () => model.doStream(prepare(call)));
        return {
          ...result,
          stream: requireCompleteStream(transformStream === undefined ? result.stream : transformStream(result.stream)),
        };
      } catch (error) {
        if (!(error instanceof PlainReply)) throw error;
        return { stream: streamOf(await readPlainReply(error)) };
      }

      /** The provider has answered: the vendor's package reads that answer, and nothing is sent. */
      async function readPlainReply({ response }: PlainReply) {
        const reader = await vendor.connect({ ...connection, fetch: async () => response });
        try {
          return await reader.model.doGenerate(reader.prepare(call));
        } catch (error) {
          const words = error instanceof Error ? error.message : String(error);
          throw new CloisterError(
            'model_request',
            `The provider answered a request for a stream with JSON that is no reply: ${words}`,
            { cause: error },
          );
        }
      }
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

// Reports when the model is connected what would fail at the first call. Messages never show a value, because it may be a secret.
const checkConnection = (provider: ResolvedProvider, modelId: string): void => {
  const { name, baseUrl, apiKey, headers } = provider;
  const invalid = (key: string, what: string): never => {
    throw new CloisterError('config_invalid', `providers.${name}.${key} ${what}`);
  };
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/u.test(url.protocol))
    invalid('baseUrl', 'must be a URL that starts with http:// or https://.');
  if (url!.username !== '' || url!.password !== '')
    invalid('baseUrl', 'must not contain a user name or password; use `apiKey` or `headers`.');
  if (url!.search !== '' || url!.hash !== '') invalid('baseUrl', 'must not contain a query (?) or a fragment (#).');
  if (!isHeader('x', apiKey))
    invalid('apiKey', 'contains a line break or another character that is not allowed in an HTTP header.');
  for (const [header, value] of Object.entries(headers))
    if (!isHeader(header, value)) invalid('headers', `contains an invalid HTTP header: ${header}`);
  if (modelId.trim() === '')
    throw new CloisterError('model_unknown', `The model name is missing: write ${name}/<model>, not ${name}/ alone.`);
};

const isHeader = (name: string, value: string): boolean => {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
};

// Makes sure that a stream ends properly or fails.
/**
 * A connection that closes early but cleanly looks like an end: the vendors' packages then finish with `interrupted`, and a
 * partial answer would pass for a complete one. Here it is an error.
 */
const requireCompleteStream = (parts: ModelStreamParts): ModelStreamParts =>
  parts.pipeThrough(
    new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform(part, controller) {
        if (part.type === 'error') controller.enqueue({ type: 'error', error: withStatus(part.error) });
        else if (part.type === 'finish' && part.finishReason.unified === 'interrupted')
          controller.enqueue({ type: 'error', error: new CloisterError('model_cut') });
        else controller.enqueue(part);
      },
    }),
  );

/** OpenAI-compatible servers report a failure in mid-stream with the status as `code`. */
const withStatus = (error: unknown): unknown => {
  if (typeof error !== 'object' || error === null || error instanceof Error || 'statusCode' in error) return error;
  const { code } = error as { code?: unknown };
  const status = Number(code);
  return Number.isInteger(status) && status >= 400 && status < 600 ? { ...error, statusCode: status } : error;
};
