// Facts of models that are given as objects, from the same sources as those of models that a config names.
//
//   own-price-first. A model that comes with a price keeps it.
import type { calcPrice } from '@pydantic/genai-prices';
import { omitUndefined } from '#base';
import type { Model, Price } from '#contracts';
import { toPrice } from './model-facts.ts';
import { vendorCode } from './vendors.ts';

/** Null until it is loaded. */
let calculate: typeof calcPrice | null = null;

/** Loads the list, if one of these models may be in it. It takes a while, so programs without such models do without. */
export const loadPriceList = async (models: Iterable<Model>): Promise<void> => {
  if (calculate !== null || ![...models].some((model) => model.price === undefined && listedName(model) !== null))
    return;
  calculate = (await import('@pydantic/genai-prices')).calcPrice;
};

const known = new WeakMap<Model, Model>();

/** The same model with what it does not say itself: its price, if the list is loaded and has it, and the files that it takes. */
export const withKnownFacts = (model: Model): Model => {
  if (model.price !== undefined && model.attachments !== undefined) return model;
  const completed = known.get(model) ?? completeFacts(model);
  // Without the list, the price may still come.
  if (calculate !== null) known.set(model, completed);
  return completed;
};

const completeFacts = (model: Model): Model => {
  const name = listedName(model);
  if (name === null) return model;
  const price = model.price ?? lookUp(name);
  const attachments = model.attachments ?? attachmentsOf(name);
  if (price === model.price && attachments === model.attachments) return model;
  return Object.freeze({ ...model, ...omitUndefined({ price, attachments }) });
};

const lookUp = ([providerId, modelId]: readonly [string, string]): Price | undefined => {
  const found = calculate?.({}, modelId, { providerId, timestamp: new Date() });
  return found ? toPrice(found.model_price) : undefined;
};

/** As for the vendor's models in a config. */
const attachmentsOf = (name: readonly [string, string]): readonly string[] | undefined =>
  Object.values(vendorCode).find(({ priceList }) => priceList === vendorOf(name))?.attachments;

/** Clouds run the models of other vendors; that of Amazon names the vendor in the id: us.anthropic.claude-sonnet-4-5. */
const vendorOf = ([providerId, modelId]: readonly [string, string]): string => {
  if (providerId === 'azure') return 'openai';
  return providerId === 'aws' && /(?:^|\.)anthropic\./u.test(modelId) ? 'anthropic' : providerId;
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
