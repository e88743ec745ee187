// The size of a session's window, and how its tokens are estimated.
//
//   window-limit-by-definitions. Both depend only on definitions, config and the session's own model, never on a balance or on
//       another running cell.
import type { Model, WindowLimit } from '#contracts';
import { defaultTokensPerByte } from '#core/memory';
import type { ContextWindow, WindowRoom } from '#core/memory';
import { replyCap } from './budget.ts';
import { modelName } from './model-name.ts';
import type { Session } from './state.ts';

export const windowTokensDefault = 128_000;

/** The smallest known limit: the model's window, the agent's own limit, or its budget group's at the cell's creation. */
export const windowLimit = ({ cell: { limits, runtime } }: Session, model: Model): WindowLimit => {
  const { groupTokens } = runtime;
  // probe: window-of-model
  let limit: WindowLimit | null = model.contextTokens ? { tokens: model.contextTokens, by: 'model' } : null;
  if (limits.contextTokensMax > 0 && limits.contextTokensMax < (limit?.tokens ?? Infinity))
    limit = { tokens: limits.contextTokensMax, by: 'given' };
  if (groupTokens !== undefined && groupTokens < (limit?.tokens ?? Infinity))
    limit = { tokens: groupTokens, by: 'group' };
  // probe: window-limit
  return limit ?? defaultLimit;
};

const defaultLimit: WindowLimit = { tokens: windowTokensDefault, by: 'default' };

/** The estimate for files, whose bytes are not in the view. */
export const fileTokens = ({ files }: Pick<ContextWindow, 'files'>): number =>
  files.length === 0 ? 0 : files.reduce((sum, { tokens }) => sum + tokens, 0);

/** The part of the window that a prompt may use: the answer needs room too. */
export const promptRoom = (session: Session, model: Model, { tokens }: WindowLimit): WindowRoom => ({
  tokens: Math.max(1, tokens - Math.min(replyCap(session, model, tokens).tokens, Math.floor(tokens / 2))),
  // probe: window-tokens-per-byte
  tokensPerByte:
    [session.latestCount, session.latestUsage].find((one) => one?.model === modelName(model))?.perByte ??
    defaultTokensPerByte,
});

/** The part of it that text may use. */
export const textRoom = (session: Session, model: Model, limit: WindowLimit): WindowRoom => {
  const room = promptRoom(session, model, limit);
  const files = fileTokens(session.window);
  return files === 0 ? room : { ...room, tokens: Math.max(1, room.tokens - files) };
};

/** A token is assumed to have one to five bytes; counts outside that range are not believed. */
const [perByteMin, perByteMax] = [0.2, 1];

/** From the latest count. */
export const estimateTokensPerByte = (inputTokens: number, bytes: number): number =>
  bytes === 0 || inputTokens === 0
    ? defaultTokensPerByte
    : Math.min(perByteMax, Math.max(perByteMin, inputTokens / bytes));
