// How large a session's window is, and how its tokens are counted.
//
//   N1. From definitions, config and what its own model reported: never from a balance or from another running cell.
import type { Model, WindowLimit } from '#contracts';
import { perByteDefault } from '#core/memory';
import type { Room } from '#core/memory';
import { outputTokensMax } from './budget.ts';
import type { Session } from './state.ts';

export const windowTokensDefault = 128_000;

/** The smallest of what is known: the model's own, what the agent's file says, what its budget group had at its birth. */
export const windowLimit = ({ cell: { limits, groupTokens } }: Session, model: Model): WindowLimit => {
  // probe: window-of-model
  let limit: WindowLimit | null = model.contextTokens ? { tokens: model.contextTokens, by: 'model' } : null;
  if (limits.contextTokensMax > 0 && limits.contextTokensMax < (limit?.tokens ?? Infinity))
    limit = { tokens: limits.contextTokensMax, by: 'given' };
  if (groupTokens !== undefined && groupTokens < (limit?.tokens ?? Infinity))
    limit = { tokens: groupTokens, by: 'group' };
  // probe: window-limit
  return limit ?? unknown;
};

const unknown: WindowLimit = { tokens: windowTokensDefault, by: 'default' };

/** What a prompt may take of it: the answer needs room too. */
export const roomFor = (
  { cell: { limits }, reported, counted }: Session,
  model: Model,
  { tokens }: WindowLimit,
): Room => ({
  tokens: Math.max(1, tokens - Math.min(outputTokensMax(limits, model), Math.floor(tokens / 2))),
  perByte: [counted, reported].find((one) => one?.model === model)?.perByte ?? perByteDefault,
});

/** Five bytes to a token at most: a count that says less is not believed. At least one. */
const [perByteMin, perByteMax] = [0.2, 1];

/** As it was counted last. */
export const perByteOf = (inputTokens: number, bytes: number): number =>
  bytes === 0 || inputTokens === 0 ? perByteDefault : Math.min(perByteMax, Math.max(perByteMin, inputTokens / bytes));
