// What is held for an attempt, and what it cost.
import type { Amounts, Model, Price, Usage } from '#contracts';
import type { CellLimits } from '#core/cells';
import { recordedVersions } from '#core/rules';
import { holdEstimates } from './hold-estimate.ts';
import type { Session } from './state.ts';

const outputTokensDefault = 8_192;

/** The agent's limit, else the model's, else the default. Never derived from a balance. */
export const outputTokensMax = (limits: CellLimits, model: Model): number =>
  limits.maxOutputTokens || model.maxOutputTokens || outputTokensDefault;

export const holdFor = (session: Session, model: Model): Amounts => {
  const { window, latestUsage, cell } = session;
  const { runtime, limits, agent } = cell;
  const isComparable = latestUsage !== null && latestUsage.model === model && latestUsage.cuts === window.cuts;
  const estimate = holdEstimates[recordedVersions(runtime.liveRun.format).holdEstimate]!;
  return {
    ...estimate({
      bytes: window.bytes,
      reported: isComparable ? latestUsage : null,
      outputTokensMax: outputTokensMax(limits, model),
      reasoning: agent.settings.reasoning ?? 'none',
      price: model.price,
    }),
    ...(runtime.account.tracksMemory ? { bytes: sessionMemoryBytes(session) } : {}),
  };
};

/** The session's window, mailbox, journal and outputs. */
const sessionMemoryBytes = ({ window, cell }: Session): number => {
  const { runtime } = cell;
  return window.bytes + (runtime.liveRun.mail.directory.get(runtime.cellId)?.mailbox.bytes ?? 0) + cell.journalBytes;
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
