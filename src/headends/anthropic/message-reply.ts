// A run as one complete message.
import type { JsonObject } from '#base';
import type { ClientCall, ServedRun, SpentTokens } from '#contracts';
import { answerName, awaitAnswerEnd, collectPieces } from '#headends/shared';
import type { AnswerEnd } from '#headends/shared';

/** The answer as one message. The activity of sub-agents and tools comes first, if `shown`. */
export const messageReply = async (run: ServedRun, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const end = await awaitAnswerEnd(run);
  const answerText = end.calls.length === 0 ? end.answer.text : text;
  return {
    ...messageHead(run),
    content: [
      ...(activity === '' ? [] : [{ type: 'thinking', thinking: activity, signature: '' }]),
      ...(answerText === '' ? [] : [{ type: 'text', text: answerText, citations: null }]),
      ...end.calls.map((call) => ({ ...callBlock(call), input: call.args })),
    ],
    stop_reason: stopReason(end),
    usage: anthropicUsage(end.spent),
  };
};

/** A call of one of the client's tools, without its arguments. */
export const callBlock = ({ id, name }: ClientCall): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: {},
  caller: { type: 'direct' },
});

/** The fields that do not change while a message is streamed. */
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

/** `max_tokens` is the only reason in the protocol that fits a partial answer. */
export const stopReason = ({ calls, answer }: AnswerEnd): string => {
  if (!answer.whole) return 'max_tokens';
  return calls.length > 0 ? 'tool_use' : 'end_turn';
};

/** The usage of the whole run. Anthropic counts cache reads and cache writes separately from the input. */
export const anthropicUsage = (spent: SpentTokens): JsonObject => ({
  input_tokens: Math.max(0, spent.inputTokens - spent.cacheReadTokens - spent.cacheWriteTokens),
  cache_creation_input_tokens: spent.cacheWriteTokens,
  cache_read_input_tokens: spent.cacheReadTokens,
  output_tokens: spent.outputTokens,
  output_tokens_details: null,
  server_tool_use: null,
});
