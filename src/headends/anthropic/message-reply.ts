// A run as a message.
import type { JsonObject } from '#base';
import type { ClientCall, ServedRun, SpentTokens } from '#contracts';
import { answerName, endOf, collectPieces } from '#headends/shared';
import type { AnswerEnd } from '#headends/shared';

/** The answer as one message: what others did meanwhile first, if that is shown. */
export const messageReply = async (run: ServedRun, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const end = await endOf(run);
  const said = end.calls.length === 0 ? end.answer.text : text;
  return {
    ...messageHead(run),
    content: [
      ...(activity === '' ? [] : [{ type: 'thinking', thinking: activity, signature: '' }]),
      ...(said === '' ? [] : [{ type: 'text', text: said, citations: null }]),
      ...end.calls.map((call) => ({ ...callBlock(call), input: call.args })),
    ],
    stop_reason: stopReason(end),
    usage: usageOf(end.spent),
  };
};

/** A call of one of the client's tools, without what it is called with. */
export const callBlock = ({ id, name }: ClientCall): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: {},
  caller: { type: 'direct' },
});

/** What is the same from the start of a message to its end. */
export const messageHead = (run: ServedRun): JsonObject => ({
  id: `msg_${answerName(run)}`,
  type: 'message',
  role: 'assistant',
  model: run.agent,
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
});

/** The protocol has one word for an answer that is not whole. */
export const stopReason = ({ calls, answer }: AnswerEnd): string => {
  if (calls.length > 0) return 'tool_use';
  return answer.whole ? 'end_turn' : 'max_tokens';
};

/** Of the whole tree. What was read from a cache or written there is counted beside the input, not in it. */
export const usageOf = (spent: SpentTokens): JsonObject => ({
  input_tokens: Math.max(0, spent.inputTokens - spent.cacheReadTokens - spent.cacheWriteTokens),
  cache_creation_input_tokens: spent.cacheWriteTokens,
  cache_read_input_tokens: spent.cacheReadTokens,
  output_tokens: spent.outputTokens,
  output_tokens_details: null,
  server_tool_use: null,
});
