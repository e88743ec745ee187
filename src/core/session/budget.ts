// What is held for an attempt, and what it cost.
import type { Failure } from '#base';
import type { Amounts, Model, Price, Usage } from '#contracts';
import { amountText } from '#core/events';
import { holdRules, replyTokensMin } from '#core/rules';
import type { ReplyCap, ReplyShare } from '#core/rules';
import { requestSchema } from './answer-schema.ts';
import { modelName } from './model-name.ts';
import type { Session } from './state.ts';

/** The longest reply, thinking included. `windowTokens`: the window's limit for this model. */
export const replyCap = ({ cell }: Session, model: Model, windowTokens: number): ReplyCap => {
  const { runtime, limits, agent } = cell;
  return holdRules(runtime.format).replyCap({
    agentMax: limits.maxOutputTokens,
    modelMax: model.maxOutputTokens,
    reasoning: agent.resources.settings.reasoning ?? 'none',
    windowTokens,
    // probe: reply-cap-caps
    caps: runtime.capsUpwards,
    price: model.price,
  });
};

export const holdFor = (session: Session, model: Model, reply: number): Amounts => {
  const { window, latestUsage, cell } = session;
  const { runtime } = cell;
  const name = modelName(model);
  const isComparable = latestUsage !== null && latestUsage.model === name && latestUsage.cuts === window.cuts;
  return {
    ...holdRules(runtime.format).hold({
      model: name,
      promptTokens: isComparable ? window.tokens - latestUsage.atTokens : window.tokens,
      reported: isComparable ? latestUsage.tokens : null,
      hasTools: window.hasTools,
      schema: requestSchema(session, model),
      reply,
      price: model.price,
    }),
    ...(runtime.tracksMemory ? { bytes: sessionMemoryBytes(session) } : {}),
  };
};

/** The share of a budget leaves no room for a reply. */
export const replyTooShort = ({ unit, cap, parts, tokens }: ReplyShare, shortest: Amounts): Failure => {
  const share =
    parts === 4
      ? 'A reply may use a quarter of the budget'
      : `This many levels down, a reply may use 1/${parts} of the budget`;
  const detail =
    `${share}. Of ${amountText(unit, cap)}, that is room for ${tokens} tokens, and a request needs room ` +
    `for ${replyTokensMin}. Raise \`budget.${unit === 'tokens' ? 'tokens' : 'usd'}\`` +
    `${shortest[unit]! > cap ? '' : ', or set `maxOutputTokens`'}.`;
  return { code: 'budget_refused', detail };
};

/** The session's window, mailbox, journal and outputs. */
const sessionMemoryBytes = ({ window, cell }: Session): number => {
  return window.bytes + cell.runtime.mailBytes + cell.journalBytes;
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

/** Whether an attempt cost more than was held for it, in a unit in which a budget applies. */
export const isOverdrawn = (hold: Amounts, { usage, price, caps }: OverdraftFacts): boolean =>
  (caps.tokens !== undefined && usage.inputTokens + usage.outputTokens > (hold.tokens ?? Infinity)) ||
  (caps.nanoUsd !== undefined && (costNanoUsd(price, usage) ?? 0) > (hold.nanoUsd ?? Infinity));

type OverdraftFacts = { readonly usage: Usage; readonly price: Price | undefined; readonly caps: Amounts };
