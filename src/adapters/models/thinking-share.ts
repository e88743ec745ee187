// How much of the longest reply a model may use for thinking, where the vendor takes a number of tokens for it.
//
//   thinking-within-reply. Thinking is part of the reply: what is sent never lets a model produce more than `maxOutputTokens`
//       in all, because that is what was held for it. Anthropic and Google count thinking against the maximum, as OpenAI does,
//       but the packages choose the tokens for thinking from the model's own maximum; Anthropic's adds them on top.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

type Level = Exclude<LanguageModelV4CallOptions['reasoning'], undefined | 'provider-default' | 'none'>;

/** The room to think that the runtime adds to an answer of default length, as a part of both. */
export const thinkingShares: Readonly<Record<Level, number>> = {
  minimal: 1 / 9,
  low: 1 / 3,
  medium: 1 / 2,
  high: 2 / 3,
  xhigh: 3 / 4,
  max: 4 / 5,
};

/** The shortest answer that is worth thinking for. */
const answerTokensMin = 256;

/**
 * The tokens for thinking, at least `min` and at most `max`; 0 if that leaves no room for an answer. Undefined: the call does not
 * ask for thinking, or does not limit the reply.
 */
export const thinkingBudget = (
  { reasoning, maxOutputTokens }: LanguageModelV4CallOptions,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined => {
  if (reasoning === undefined || reasoning === 'provider-default' || reasoning === 'none') return undefined;
  if (maxOutputTokens === undefined) return undefined;
  const wanted = Math.floor(maxOutputTokens * thinkingShares[reasoning]);
  const budget = Math.min(Math.max(wanted, min), max, maxOutputTokens - answerTokensMin);
  return budget < Math.max(1, min) ? 0 : budget;
};
