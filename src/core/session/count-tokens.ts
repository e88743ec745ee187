// Asks the model's tokenizer, if it has one and an estimate is not enough. Recorded as an operation, so a replay gets the same count.
import type { Json } from '#base';
import type { Model } from '#contracts';
import { bytesToTokens } from '#core/memory';
import { modelName } from './model-name.ts';
import type { Session } from './state.ts';
import { estimateTokensPerByte, textRoom, windowLimit } from './window-limit.ts';

/** Above this fraction of the window, an estimate is not good enough: a single byte can be a token. */
const estimateFractionMax = 0.25;

export const countPromptTokens = async (session: Session, model: Model): Promise<void> => {
  const { cell, window } = session;
  const { countTokens: count } = model;
  const room = textRoom(session, model, windowLimit(session, model));
  if (count === undefined || bytesToTokens(window.bytes, room) < room.tokens * estimateFractionMax) return;
  const counting = cell.runtime.begin({
    do: 'step',
    name: 'count:tokens',
    repeat: 'free',
    timeoutMs: cell.limits.toolTimeout,
    timeoutCode: 'tool_timeout',
    work: async (): Promise<Json> => count(JSON.stringify(window.view.map(({ part }) => part))),
  });
  const { settled } = await cell.runtime.first([counting]);
  // If the tokenizer fails or returns an impossible count, the estimate stays.
  const tokens = settled!.ok ? settled!.value : null;
  if (typeof tokens === 'number' && tokens > 0)
    session.latestCount = { model: modelName(model), perByte: estimateTokensPerByte(tokens, window.bytes) };
};
