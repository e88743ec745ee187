// What the bundled price list knows about a model. The list is used as published with the package and never updated remotely.
import { nearestName, omitUndefined } from '#base';
import type { ModelFacts, Price, ProviderType } from '#contracts';
import type { ModelInfo, ModelPrice, TieredPrices } from '@pydantic/genai-prices';
import type { Vendor } from './vendor.ts';
import { vendorCode } from './vendors.ts';

/** Unknown facts are absent. Prices are those valid at `at`; without it, the newest that do not depend on the time of day. */
export const modelFacts = async (type: ProviderType, modelId: string, at?: Date): Promise<ModelFacts> => ({
  ...(await listedFacts(type, modelId, at)),
  ...(codeFor(type)?.structuredOutput?.(modelId) === true ? { structuredOutput: true } : {}),
  ...omitUndefined({ attachments: codeFor(type)?.attachments }),
});

const codeFor = (type: ProviderType): Vendor | undefined => (type === 'rehearsal' ? undefined : vendorCode[type]);

const listedFacts = async (type: ProviderType, modelId: string, at?: Date): Promise<ModelFacts> => {
  const providerId = codeFor(type)?.priceList;
  if (providerId === undefined) return {};
  const { calcPrice } = await import('@pydantic/genai-prices');
  // Called with no usage: only the matching list entry of the result is needed.
  const found = calcPrice({}, modelId, { providerId, timestamp: at ?? new Date(0) });
  if (found === null) return {};
  const price = toPrice(at === undefined ? newestPrices(found.model) : found.model_price);
  const contextTokens = found.model.context_window;
  return { ...(price && { price }), ...(contextTokens !== undefined && { contextTokens }) };
};

/** For a name that the price list does not have: the most similar one that it has. Null if it has the name, or none is similar. */
export const similarModel = async (type: ProviderType, modelId: string): Promise<string | null> => {
  const providerId = codeFor(type)?.priceList;
  if (providerId === undefined) return null;
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices');
  if (calcPrice({}, modelId, { providerId, timestamp: new Date(0) }) !== null) return null;
  return nearestName(modelId, findProvider({ providerId })?.models.map(({ id }) => id) ?? []);
};

/** The list is sorted by date. */
const newestPrices = ({ prices }: ModelInfo): ModelPrice =>
  Array.isArray(prices)
    ? (prices.findLast(({ constraint }) => constraint?.type !== 'time_of_date')?.prices ?? {})
    : prices;

type Rate = number | TieredPrices | undefined;

/** Undefined unless input and output have a price: an empty entry does not mean that the model is free. */
export const toPrice = (prices: ModelPrice): Price | undefined => {
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

/** Applies tiers as the list does: all tokens of a request have the price of the last tier that its input exceeds. */
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
