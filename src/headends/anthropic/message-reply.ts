// A run as a message.
import type { JsonObject } from '#base';
import type { ServedRun, Spent } from '#contracts';
import { activityOf, answerOf } from '#headends/wire';
import type { Answer } from '#headends/wire';

/** The answer as one message: what others did meanwhile first, if that is shown. */
export const messageReply = async (run: ServedRun, activity: boolean): Promise<JsonObject> => {
  const thinking = activity ? await activityOf(run) : '';
  const outcome = await run.outcome;
  const answer = answerOf(outcome);
  return {
    ...messageHead(run),
    content: [
      ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: '' }]),
      { type: 'text', text: answer.text, citations: null },
    ],
    stop_reason: stopReason(answer),
    usage: usageOf(outcome.spent),
  };
};

/** What is the same from the start of a message to its end. */
export const messageHead = (run: ServedRun): JsonObject => ({
  id: `msg_${run.run}`,
  type: 'message',
  role: 'assistant',
  model: run.agent,
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
});

/** The protocol has one word for an answer that is not whole. */
export const stopReason = ({ whole }: Answer): string => (whole ? 'end_turn' : 'max_tokens');

/** Of the whole tree. What was read from a cache or written there is counted beside the input, not in it. */
export const usageOf = (spent: Spent): JsonObject => ({
  input_tokens: Math.max(0, spent.inputTokens - spent.cacheReadTokens - spent.cacheWriteTokens),
  cache_creation_input_tokens: spent.cacheWriteTokens,
  cache_read_input_tokens: spent.cacheReadTokens,
  output_tokens: spent.outputTokens,
  output_tokens_details: null,
  server_tool_use: null,
});
