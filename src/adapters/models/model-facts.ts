// What the bundled price list knows of a model. It is read as it was published with the package and never updated from afar.
import type { ModelFacts, Price, ProviderType } from '#contracts';
import type { ModelInfo, ModelPrice, TieredPrices } from '@pydantic/genai-prices';

/** What is not known is absent. Prices are those valid at `at`; without it, the newest that depend on no time of day. */
export const modelFacts = async (type: ProviderType, modelId: string, at?: Date): Promise<ModelFacts> => {
  const providerId = listed[type];
  if (providerId === undefined) return {};
  const { calcPrice } = await import('@pydantic/genai-prices');
  // Asked for nothing: the answer says which entry of the list it used.
  const found = calcPrice({}, modelId, { providerId, timestamp: at ?? new Date(0) });
  if (found === null) return {};
  const price = priceOf(at === undefined ? newest(found.model) : found.model_price);
  const contextTokens = found.model.context_window;
  return { ...(price && { price }), ...(contextTokens !== undefined && { contextTokens }) };
};

/** By the names of the list. What runs at home, or at an address of the operator's, is not in it. */
const listed: Readonly<Partial<Record<ProviderType, string>>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  openrouter: 'openrouter',
};

/** The list is in the order of its dates. */
const newest = ({ prices }: ModelInfo): ModelPrice =>
  Array.isArray(prices)
    ? (prices.findLast(({ constraint }) => constraint?.type !== 'time_of_date')?.prices ?? {})
    : prices;

type Rate = number | TieredPrices | undefined;

/** Undefined unless both directions have a price: an empty entry does not mean that it is free. */
const priceOf = (prices: ModelPrice): Price | undefined => {
  const rates = {
    input: prices['input_mtok'],
    output: prices['output_mtok'],
    cacheRead: prices['cache_read_mtok'],
    cacheWrite: prices['cache_write_mtok'],
  };
  const base = pricesAbove(rates, -1);
  if (base === undefined) return undefined;
  const starts = new Set(Object.values(rates).flatMap((rate) => (isTiered(rate) ? rate.tiers : []).map(startOf)));
  const tiers = [...starts]
    .sort((one, other) => one - other)
    .flatMap((aboveInputTokens) => {
      const tier = pricesAbove(rates, aboveInputTokens);
      return tier === undefined ? [] : [{ ...tier, aboveInputTokens }];
    });
  return tiers.length === 0 ? base : { ...base, tiers };
};

/** As the list applies its tiers: all tokens of a request have the price of the last tier that its input passes. */
const pricesAbove = (
  { input, output, cacheRead, cacheWrite }: Record<'input' | 'output' | 'cacheRead' | 'cacheWrite', Rate>,
  inputTokens: number,
): Omit<Price, 'tiers'> | undefined => {
  const [inputUsd, outputUsd] = [rateAbove(input, inputTokens), rateAbove(output, inputTokens)];
  if (inputUsd === undefined || outputUsd === undefined) return undefined;
  const [readUsd, writeUsd] = [rateAbove(cacheRead, inputTokens), rateAbove(cacheWrite, inputTokens)];
  return {
    input: inputUsd,
    output: outputUsd,
    ...(readUsd !== undefined && { cacheRead: readUsd }),
    ...(writeUsd !== undefined && { cacheWrite: writeUsd }),
  };
};

const rateAbove = (rate: Rate, inputTokens: number): number | undefined =>
  isTiered(rate) ? (rate.tiers.findLast(({ start }) => start <= inputTokens)?.price ?? rate.base) : rate;

const isTiered = (rate: Rate): rate is TieredPrices => typeof rate === 'object';

const startOf = ({ start }: { readonly start: number }): number => start;
