// The upper bound of what one attempt may cost. It is recorded with every attempt, and a replay must compute it again: to change
// it, add another version. Runs of earlier formats go on using theirs.
import type { Amounts, ModelSettings, Price } from '#contracts';

export type HoldInput = {
  /** Size of the prompt. */
  readonly bytes: number;
  /** The input and output that the model last reported, and the size of the prompt then; null if they say nothing about this prompt. */
  readonly reported: { readonly tokens: number; readonly atBytes: number } | null;
  readonly outputTokensMax: number;
  readonly reasoning: NonNullable<ModelSettings['reasoning']>;
  readonly price: Price | undefined;
};

/** Tokens that providers add to a request. */
const overheadTokens = 1_024;

/** Reasoning tokens beyond the answer, for providers that count them separately: fractions of the longest possible answer. */
export const thinkingTokens: Record<NonNullable<ModelSettings['reasoning']>, number> = {
  none: 0,
  minimal: 2_560,
  low: 12_800,
  medium: 38_400,
  high: 76_800,
  xhigh: 115_200,
  max: 131_072,
};

/**
 * The last reported input and output, one token per byte added since, overhead, and the output cap. After a change of model,
 * every byte of the window counts.
 */
const holdEstimate1 = ({ bytes, reported, outputTokensMax, reasoning, price }: HoldInput): Amounts => {
  const input = (reported === null ? bytes : reported.tokens + bytes - reported.atBytes) + overheadTokens;
  const output = outputTokensMax + thinkingTokens[reasoning];
  return { tokens: input + output, ...(price && { nanoUsd: boundNanoUsd(price, input, output) }) };
};

/** Dollars per million tokens equal thousands of nano-dollars per token. Uses the highest price that applies to this much input. */
const boundNanoUsd = (price: Price, input: number, output: number): number => {
  const tiers = (price.tiers ?? noTiers).filter(({ aboveInputTokens }) => input > aboveInputTokens);
  const bounds = [price, ...tiers].map(
    (tier) =>
      input * Math.max(tier.input, tier.cacheWrite ?? 0, tier.cacheRead ?? 0) * 1_000 + output * tier.output * 1_000,
  );
  return Math.ceil(Math.max(...bounds));
};

const noTiers: NonNullable<Price['tiers']> = [];

/** By version. */
export const holdEstimates: Readonly<Record<number, (input: HoldInput) => Amounts>> = { 1: holdEstimate1 };
