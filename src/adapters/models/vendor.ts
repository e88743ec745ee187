// What each vendor module provides: facts about its models, its model object, and how to transform calls and streams.
import { randomUUID } from 'node:crypto';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { isObject } from '#base';
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
  /** Media types of files that its models take with a message. Who runs a server of one's own says so in the config. */
  readonly attachments?: readonly string[];
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

// Which schemas a vendor can enforce while the model writes.
/** The schema that comes with a call, if there is one. */
export const schemaOf = ({ responseFormat }: LanguageModelV4CallOptions): unknown =>
  responseFormat?.type === 'json' ? responseFormat.schema : undefined;

/** The same call without a schema: the prompt states it too. */
export const withoutSchema = ({
  responseFormat: _format,
  ...call
}: LanguageModelV4CallOptions): LanguageModelV4CallOptions => call;

/**
 * Whether every object in the schema lists all of its keys, requires them and allows no others, and only the commonest keywords occur.
 * Vendors that enforce a schema refuse most others, and each a different set.
 */
export const isClosedSchema = (schema: unknown, depth = 0): boolean => {
  if (!isObject(schema) || depth > depthMax || Object.keys(schema).some((key) => !keywords.has(key))) return false;
  const { properties = {}, required = [], items, anyOf = [], enum: values } = schema;
  if (!isObject(properties) || !Array.isArray(required) || !Array.isArray(anyOf)) return false;
  const isClosed =
    schema['additionalProperties'] === false && Object.keys(properties).every((key) => required.includes(key));
  if (schema['type'] === 'object' ? !isClosed : Object.keys(properties).length > 0) return false;
  if (schema['type'] === undefined && values === undefined && anyOf.length === 0) return false;
  if (schema['type'] === 'array' && items === undefined) return false;
  const parts = [...Object.values(properties), ...(items === undefined ? [] : [items]), ...(anyOf as unknown[])];
  return parts.every((part) => isClosedSchema(part, depth + 1));
};

const depthMax = 5;

const keywords: ReadonlySet<string> = new Set(
  '$schema type properties required additionalProperties items anyOf enum title description'.split(' '),
);

// How much of the longest reply a model may use for thinking, where the vendor takes a number of tokens for it.
//
//   thinking-within-reply. Thinking is part of the reply: what is sent never lets a model produce more than `maxOutputTokens`
//       in all, because that is what was held for it. Anthropic and Google count thinking against the maximum, as OpenAI does,
//       but the packages choose the tokens for thinking from the model's own maximum; Anthropic's adds them on top.
type Level = Exclude<LanguageModelV4CallOptions['reasoning'], undefined | 'provider-default' | 'none'>;

/** The room to think that the runtime adds to an answer of default length, as a part of both. */
export const thinkingShares: Readonly<Record<Level, number>> = {
  minimal: 1 / 9,
  low: 1 / 3,
  medium: 1 / 2,
  high: 2 / 3,
  xhigh: 3 / 4,
  max: 4 / 5,
};

/** The shortest answer that is worth thinking for. */
const answerTokensMin = 256;

/**
 * The tokens for thinking, at least `min` and at most `max`; 0 if that leaves no room for an answer. Undefined: the call does not
 * ask for thinking, or does not limit the reply.
 */
export const thinkingBudget = (
  { reasoning, maxOutputTokens }: LanguageModelV4CallOptions,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined => {
  if (reasoning === undefined || reasoning === 'provider-default' || reasoning === 'none') return undefined;
  if (maxOutputTokens === undefined) return undefined;
  const wanted = Math.floor(maxOutputTokens * thinkingShares[reasoning]);
  const budget = Math.min(Math.max(wanted, min), max, maxOutputTokens - answerTokensMin);
  return budget < Math.max(1, min) ? 0 : budget;
};
