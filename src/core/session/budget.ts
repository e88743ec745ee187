// The upper bound of one attempt, and what it really cost.
import type { Amounts, Model, Price, ModelSettings, Usage } from '#contracts';
import type { CellLimits } from '#core/cells';
import type { Session } from './state.ts';

/** What providers add around a request. */
const overheadTokens = 1_024;
const outputTokensDefault = 8_192;

/** What a model may think beyond its answer, where the provider counts that apart: shares of the longest answers there are. */
export const thinkingTokens: Record<NonNullable<ModelSettings['reasoning']>, number> = {
  none: 0,
  minimal: 2_560,
  low: 12_800,
  medium: 38_400,
  high: 76_800,
  xhigh: 115_200,
  max: 131_072,
};

/** The agent's, else the model's, else the default. Never from a balance. */
export const outputTokensMax = (limits: CellLimits, model: Model): number =>
  limits.maxOutputTokens || model.maxOutputTokens || outputTokensDefault;

/** Last reported input and output, bytes of what is new since, overhead, and the output cap; counted whole after a change of model. */
export const holdFor = (session: Session, model: Model): Amounts => {
  const { window, reported, cell } = session;
  const known = reported !== null && reported.model === model && reported.cuts === window.cuts;
  const input = (known ? reported.tokens + window.bytes - reported.atBytes : window.bytes) + overheadTokens;
  const output = outputTokensMax(cell.limits, model) + thinkingTokens[cell.agent.settings.reasoning ?? 'none'];
  return {
    tokens: input + output,
    ...(model.price && { nanoUsd: boundNanoUsd(model.price, input, output) }),
    ...(cell.runtime.account.weighs ? { bytes: memoryOf(session) } : {}),
  };
};

/** Its window, its mailbox, its journal and its outputs. */
const memoryOf = ({ window, cell }: Session): number => {
  const { runtime } = cell;
  return window.bytes + (runtime.liveRun.post.directory.get(runtime.cellId)?.box.bytes ?? 0) + cell.journalBytes;
};

/** Dollars per million tokens are thousands of nano-dollars per token. At the dearest price that so much input may have. */
const boundNanoUsd = (price: Price, input: number, output: number): number => {
  const tiers = (price.tiers ?? noTiers).filter(({ aboveInputTokens }) => input > aboveInputTokens);
  const bounds = [price, ...tiers].map(
    (tier) =>
      input * Math.max(tier.input, tier.cacheWrite ?? 0, tier.cacheRead ?? 0) * 1_000 + output * tier.output * 1_000,
  );
  return Math.ceil(Math.max(...bounds));
};

const noTiers: NonNullable<Price['tiers']> = [];

/** The price of a whole request with so much input. */
const tierFor = (price: Price, inputTokens: number): Omit<Price, 'tiers'> =>
  (price.tiers ?? noTiers)
    .filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
    .reduce<Omit<Price, 'tiers'> & { aboveInputTokens?: number }>(
      (best, tier) => ((best.aboveInputTokens ?? -1) > tier.aboveInputTokens ? best : tier),
      price,
    );

/** By the reported split; null when the model has no price. */
export const costNanoUsd = (price: Price | undefined, usage: Usage): number | null => {
  if (price === undefined) return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const tier = tierFor(price, inputTokens);
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const input =
    plain * tier.input +
    cacheReadTokens * (tier.cacheRead ?? tier.input) +
    cacheWriteTokens * (tier.cacheWrite ?? tier.input);
  return Math.ceil((input + outputTokens * tier.output) * 1_000);
};

/** Whether a provider used more than its stated maximum. */
export const isOverdrawn = (hold: Amounts, usage: Usage, price: Price | undefined): boolean =>
  usage.inputTokens + usage.outputTokens > (hold.tokens ?? Infinity) ||
  (costNanoUsd(price, usage) ?? 0) > (hold.nanoUsd ?? Infinity);
