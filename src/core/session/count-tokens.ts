// Asks the model's tokenizer, where there is one and it matters. Recorded as an operation: a replay counts the same.
import type { Json } from '#base';
import type { Model } from '#contracts';
import { tokensIn } from '#core/memory';
import type { Session } from './state.ts';
import { perByteOf, roomFor, windowLimit } from './window-limit.ts';

/** From here on an estimate is not good enough: a byte may be a token of its own. */
const nearly = 0.25;

export const countPromptTokens = async (session: Session, model: Model): Promise<void> => {
  const { cell, window } = session;
  const { countTokens: count } = model;
  const room = roomFor(session, model, windowLimit(session, model));
  if (count === undefined || tokensIn(window.bytes, room) < room.tokens * nearly) return;
  const settled = await cell.runtime.run({
    do: 'step',
    name: 'count:tokens',
    repeat: 'free',
    timeoutMs: cell.limits.toolTimeout,
    timeoutCode: 'tool_timeout',
    work: async (): Promise<Json> => count(JSON.stringify(window.view.map(({ part }) => part))),
  });
  // A tokenizer that fails, or says what cannot be, leaves the estimate.
  const tokens = settled.ok ? settled.value : null;
  if (typeof tokens === 'number' && tokens > 0) session.counted = { model, perByte: perByteOf(tokens, window.bytes) };
};
