// The chunks of a streamed chat completion.
//
//   done-means-answer. A stream that ends with [DONE] holds an answer; a stream that ends with an error does not.
import { clientError } from '#headends/shared';
import type { JsonObject } from '#base';
import type { ClientCall, ServedRun, ServerEvent } from '#contracts';
import { answerName, awaitAnswerEnd, callArguments } from '#headends/shared';
import type { AnswerEnd } from '#headends/shared';
import { completionId, epochSeconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { chatUsage } from './usage.ts';

type ChatStreamOptions = {
  /** The id of the request. */
  readonly request: string;
  readonly withUsage: boolean;
  /** Whether to send what sub-agents and tools do, as reasoning. */
  readonly activity: boolean;
};

export async function* chatEvents(run: ServedRun, options: ChatStreamOptions): AsyncGenerator<ServerEvent> {
  const head = {
    id: completionId(answerName(run)),
    object: 'chat.completion.chunk',
    created: epochSeconds(run.startedAt),
    model: run.agent,
  };
  const noUsage = options.withUsage ? { usage: null } : {};
  const chunk = (delta: JsonObject, finish: string | null = null): ServerEvent =>
    event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...noUsage });

  try {
    yield chunk({ role: 'assistant', content: '' });
    for await (const { type, text } of run.pieces()) {
      if (type === 'text') yield chunk({ content: text });
      else if (options.activity) yield chunk({ reasoning_content: text });
    }
    const end = await awaitAnswerEnd(run);
    for (const [index, call] of end.calls.entries()) yield chunk({ tool_calls: [{ index, ...chatToolCall(call) }] });
    yield chunk({}, finishReason(end));
    if (options.withUsage) yield event({ ...head, choices: [], usage: chatUsage(end.spent) });
    yield { data: '[DONE]' };
  } catch (error) {
    yield event(openaiError(clientError(error), options.request));
  }
}

export const chatToolCall = (call: ClientCall): JsonObject => ({
  id: call.id,
  type: 'function',
  function: { name: call.name, arguments: callArguments(call) },
});

export const finishReason = ({ calls, answer }: AnswerEnd): string => {
  if (!answer.whole) return 'length';
  return calls.length > 0 ? 'tool_calls' : 'stop';
};

const event = (data: JsonObject): ServerEvent => ({ data: JSON.stringify(data) });
