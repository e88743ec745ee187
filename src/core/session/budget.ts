// The upper bound of one attempt's cost, and its actual cost.
import type { Amounts, Model, Price, ModelSettings, Usage } from '#contracts';
import type { CellLimits } from '#core/cells';
import type { Session } from './state.ts';

/** Tokens that providers add to a request. */
const overheadTokens = 1_024;
const outputTokensDefault = 8_192;

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

/** The agent's limit, else the model's, else the default. Never derived from a balance. */
export const outputTokensMax = (limits: CellLimits, model: Model): number =>
  limits.maxOutputTokens || model.maxOutputTokens || outputTokensDefault;

/**
 * The last reported input and output, one token per byte added since, overhead, and the output cap. After a change of model,
 * every byte of the window counts.
 */
export const holdFor = (session: Session, model: Model): Amounts => {
  const { window, latestUsage, cell } = session;
  const isComparable = latestUsage !== null && latestUsage.model === model && latestUsage.cuts === window.cuts;
  const input =
    (isComparable ? latestUsage.tokens + window.bytes - latestUsage.atBytes : window.bytes) + overheadTokens;
  const output = outputTokensMax(cell.limits, model) + thinkingTokens[cell.agent.settings.reasoning ?? 'none'];
  return {
    tokens: input + output,
    ...(model.price && { nanoUsd: boundNanoUsd(model.price, input, output) }),
    ...(cell.runtime.account.tracksMemory ? { bytes: sessionMemoryBytes(session) } : {}),
  };
};

/** The session's window, mailbox, journal and outputs. */
const sessionMemoryBytes = ({ window, cell }: Session): number => {
  const { runtime } = cell;
  return window.bytes + (runtime.liveRun.mail.directory.get(runtime.cellId)?.mailbox.bytes ?? 0) + cell.journalBytes;
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

/** The price tier of a request with this much input. */
const tierFor = (price: Price, inputTokens: number): Omit<Price, 'tiers'> =>
  (price.tiers ?? noTiers)
    .filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
    .reduce<Omit<Price, 'tiers'> & { aboveInputTokens?: number }>(
      (best, tier) => ((best.aboveInputTokens ?? -1) > tier.aboveInputTokens ? best : tier),
      price,
    );

/** The cost by the reported token counts; null when the model has no price. */
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

/** Whether the provider used more than the maximum it was given. */
export const isOverdrawn = (hold: Amounts, usage: Usage, price: Price | undefined): boolean =>
  usage.inputTokens + usage.outputTokens > (hold.tokens ?? Infinity) ||
  (costNanoUsd(price, usage) ?? 0) > (hold.nanoUsd ?? Infinity);
