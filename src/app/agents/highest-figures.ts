// The most that a model may cost and take, for estimates of the worst case.
import type { ModelFacts, Price, TopologyAgent } from '#contracts';

export const highestFigures = ({ price, contextTokens, maxOutputTokens }: ModelFacts) => ({
  price: price === undefined ? null : highestPrice(price),
  contextTokens: contextTokens ?? null,
  maxOutputTokens: maxOutputTokens ?? null,
});

const highestPrice = ({ tiers = [], ...base }: Price): NonNullable<TopologyAgent['models'][number]['price']> => ({
  input: Math.max(...[base, ...tiers].map(({ input, cacheWrite = 0 }) => Math.max(input, cacheWrite))),
  output: Math.max(...[base, ...tiers].map(({ output }) => output)),
  least: {
    token: Math.min(
      ...[base, ...tiers].map(({ input, output, cacheRead = input }) => Math.min(input, output, cacheRead)),
    ),
    output: Math.min(...[base, ...tiers].map(({ output }) => output)),
  },
});
