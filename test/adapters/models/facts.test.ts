import { calcPrice, findProvider } from '@pydantic/genai-prices';
import { assert, constantFrom, property, integer } from 'fast-check';
import { expect, test, vi } from 'vitest';
import { modelFacts } from '#adapters/models';
import type { Price, ProviderType } from '#contracts';

const listed = (['openai', 'anthropic', 'google', 'openrouter'] as const).flatMap((type) =>
  findProvider({ providerId: type })!.models.map(({ id }) => ({ type, id })),
);

const at = new Date('2026-11-15T12:00:00Z');
const everyFact = await Promise.all(
  listed.map(async ({ type, id }) => ({ type, id, ...(await modelFacts(type, id, at)) })),
);

test.each<[ProviderType, string]>([
  ['openai', 'gpt-5'],
  ['openai', 'gpt-4.1-mini'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-opus-4-6'],
  ['google', 'gemini-3.6-flash'],
  ['openrouter', 'anthropic/claude-sonnet-4.5'],
])('%s/%s has a price and a window', async (type, modelId) => {
  const { price, contextTokens } = await modelFacts(type, modelId, at);
  expect(price!.input).toBeGreaterThan(0);
  expect(price!.output).toBeGreaterThan(price!.input);
  expect(price!.cacheRead).toBeLessThan(price!.input);
  expect(contextTokens).toBeGreaterThanOrEqual(100_000);
});

test.each<[ProviderType, string]>([
  ['anthropic', ''],
  ['google', '__proto__'],
  ['openrouter', 'nobody/nothing'],
  ['ollama', 'qwen3:8b'],
  ['openai-compatible', 'gpt-5'],
  ['rehearsal', 'gpt-5'],
])('%s/%s has no price and no size', async (type, modelId) => {
  const { attachments: _attachments, ...facts } = await modelFacts(type, modelId);
  expect(facts).toEqual({});
});

test.each<[ProviderType, string, boolean]>([
  ['openai', 'gpt-5', true],
  ['openai', 'gpt-4o-mini', true],
  ['openai', 'gpt-4.1', true],
  ['openai', 'no-such-model', true],
  ['openai', 'gpt-4', false],
  ['openai', 'gpt-4-turbo', false],
  ['openai', 'gpt-3.5-turbo', false],
  ['anthropic', 'claude-sonnet-4-5', true],
  ['anthropic', 'claude-opus-4-1-20250805', true],
  ['anthropic', 'claude-opus-5', true],
  ['anthropic', 'claude-sonnet-4-20250514', false],
  ['anthropic', 'claude-3-7-sonnet-latest', false],
  ['google', 'gemini-2.5-flash', true],
  ['google', 'gemini-1.5-pro', false],
  ['openrouter', 'openai/gpt-5', false],
  ['ollama', 'qwen3:8b', false],
])('%s/%s takes the schema of an answer with the request: %s', async (type, modelId, expected) =>
  expect((await modelFacts(type, modelId)).structuredOutput ?? false).toBe(expected),
);

test('a model listed without prices is unpriced, not free', async () => {
  const { prices, id } = findProvider({ providerId: 'openrouter' })!.models.find(
    (model) => Object.keys(model.prices).length === 0,
  )!;
  expect(prices).toEqual({});
  expect((await modelFacts('openrouter', id)).price).toBeUndefined();
});

test('prices are those of the date', async () => {
  const inputAt = async (date?: string): Promise<number> =>
    (await modelFacts('openai', 'gpt-5.6-luna', date === undefined ? undefined : new Date(date))).price!.input;
  expect(await inputAt('2026-07-29T23:59:59Z')).toBe(1);
  expect(await inputAt('2026-07-30T00:00:00Z')).toBe(0.2);
  expect(await inputAt()).toBe(0.2);
});

test('tiers are in order, and each is complete', () => {
  const tiered = everyFact.filter(({ price }) => price?.tiers !== undefined);
  expect(tiered.length).toBeGreaterThan(10);
  for (const { price } of tiered) {
    const starts = price!.tiers!.map(({ aboveInputTokens }) => aboveInputTokens);
    expect(starts).toEqual([...new Set(starts)].sort((one, other) => one - other));
    for (const tier of price!.tiers!) expect(Object.keys(tier).sort()).toEqual(keysOf(price!));
  }
});

const keysOf = (price: Price): string[] => [
  'aboveInputTokens',
  ...Object.keys(price)
    .filter((key) => key !== 'tiers')
    .sort(),
];

/** What the contract says of `Price`: a tier holds for the whole request. */
const usdFor = (price: Price, inputTokens: number, cacheRead: number, output: number): number => {
  const tier = price.tiers?.findLast(({ aboveInputTokens }) => inputTokens > aboveInputTokens) ?? price;
  return (
    ((inputTokens - cacheRead) * tier.input + cacheRead * (tier.cacheRead ?? tier.input) + output * tier.output) / 1e6
  );
};

test('for every listed model, a request costs what the price list computes', () => {
  const priced = everyFact.filter(({ price }) => price !== undefined);
  expect(priced.length).toBeGreaterThan(600);
  const silent = vi.spyOn(console, 'warn');
  assert(
    property(
      constantFrom(...priced),
      integer({ min: 0, max: 500_000 }),
      integer({ min: 0, max: 100 }),
      integer({ min: 0, max: 100_000 }),
      ({ type, id, price }, inputTokens, percentCached, outputTokens) => {
        const cached = Math.floor((inputTokens * percentCached) / 100);
        const usage = { input_tokens: inputTokens, cache_read_tokens: cached, output_tokens: outputTokens };
        const { total_price: listPrice } = calcPrice(usage, id, { providerId: type, timestamp: at })!;
        expect(usdFor(price!, inputTokens, cached, outputTokens)).toBeCloseTo(listPrice, 6);
      },
    ),
    { numRuns: 2_000 },
  );
  expect(silent).not.toHaveBeenCalled();
});
