// Prices of models that are given as objects, from the same list as those of models that a config names.
//
//   own-price-first. A model that comes with a price keeps it.
import type { calcPrice } from '@pydantic/genai-prices';
import type { Model } from '#contracts';
import { toPrice } from './model-facts.ts';

/** Null until it is loaded. */
let calculate: typeof calcPrice | null = null;

/** Loads the list, if one of these models may be in it. It takes a while, so programs without such models do without. */
export const loadPriceList = async (models: Iterable<Model>): Promise<void> => {
  if (calculate !== null || ![...models].some((model) => model.price === undefined && listedName(model) !== null))
    return;
  calculate = (await import('@pydantic/genai-prices')).calcPrice;
};

const known = new WeakMap<Model, Model>();

/** The same model with the price of the list, as of now, if the list is loaded and has it. */
export const withListedPrice = (model: Model): Model => {
  const name = model.price === undefined && calculate !== null ? listedName(model) : null;
  if (name === null) return model;
  const priced = known.get(model) ?? lookUp(model, name);
  known.set(model, priced);
  return priced;
};

const lookUp = (model: Model, [providerId, modelId]: readonly [string, string]): Model => {
  const found = calculate?.({}, modelId, { providerId, timestamp: new Date() });
  const price = found ? toPrice(found.model_price) : undefined;
  return price === undefined ? model : Object.freeze({ ...model, price });
};

/** The provider and the model as the list calls them; null: not in the list. */
const listedName = ({ language: { provider, modelId } }: Model): readonly [string, string] | null => {
  // A gateway names the provider in the id: openai/gpt-5-mini.
  const [from, id] = provider === 'gateway' ? splitOnce(modelId) : [provider.split('.')[0]!, modelId];
  const providerId = providerIds[from];
  return providerId === undefined || id === '' ? null : [providerId, id];
};

const splitOnce = (text: string): readonly [string, string] => {
  const at = text.indexOf('/');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
};

/** By the first part of `provider` in models of the AI SDK. */
const providerIds: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  azure: 'azure',
  'azure-openai': 'azure',
  'amazon-bedrock': 'aws',
  openrouter: 'openrouter',
  mistral: 'mistral',
  groq: 'groq',
  xai: 'x-ai',
  deepseek: 'deepseek',
  cohere: 'cohere',
  perplexity: 'perplexity',
  cerebras: 'cerebras',
  fireworks: 'fireworks',
  togetherai: 'together',
};
