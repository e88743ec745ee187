// The vendors of models that a config can name as `type`, and how models are named. A new vendor is a line here and a file in
// `adapters/models`: the table in `adapters/models/vendors.ts` does not compile without it.
import { pattern } from '#base/shapes';

type VendorAddress = {
  /** Where its API usually is. Without one, the config must say. */
  readonly baseUrl?: string;
  /** The variable that holds its key, if it needs one. */
  readonly key?: string;
  /** What `api` may select. */
  readonly apis?: readonly ['responses', 'chat'];
};

/** With an address, a vendor is also a provider that needs no config. Google's key is read only from this variable. */
const vendors = {
  openai: { baseUrl: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY', apis: ['responses', 'chat'] },
  anthropic: { baseUrl: 'https://api.anthropic.com/v1', key: 'ANTHROPIC_API_KEY' },
  google: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta', key: 'GOOGLE_API_KEY' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', key: 'OPENROUTER_API_KEY' },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1' },
  'openai-compatible': {},
} as const satisfies Readonly<Record<string, VendorAddress>>;

export type VendorType = keyof typeof vendors;

/** The same as a list. */
export const vendorList: readonly (VendorAddress & { readonly type: VendorType })[] = Object.entries(vendors).map(
  ([type, address]) => ({ type: type as VendorType, ...address }),
);

/** Neither a URL nor a variable: what those stand for is set in the config. */
export const modelNameShape = pattern('^[A-Za-z0-9_.-]{1,64}/\\S{1,200}$', '`<provider>/<model>`', '://|\\$\\{');

/** What agents of other runtimes call a model. A name with a slash says already which model it is. */
export const modelAliasShape = pattern(
  '^[^\\s/,\\p{Cc}](?:[^/,\\p{Cc}]{0,98}[^\\s/,\\p{Cc}])?$',
  'a model name of another runtime, at most 100 characters without `/`, `,` and `=`',
  '\\$\\{|=',
);
