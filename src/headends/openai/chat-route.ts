// Chat completions: takes the dialog so far and returns one answer, complete or streamed.
import type { JsonObject } from '#base';
import type { HttpRoute, ServedRun, AgentService } from '#contracts';
import { answerAsCall, answerName, startOrContinue, awaitAnswerEnd, collectPieces } from '#headends/shared';
import { withObjectFormat } from './answer-format.ts';
import { chatToolCall, chatEvents, finishReason } from './chat-events.ts';
import { chatOperation } from './chat-operation.ts';
import { completionId, epochSeconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { parseChat } from './parse-chat.ts';
import { chatUsage } from './usage.ts';

export const chatRoute = (service: AgentService): HttpRoute => ({
  method: 'POST',
  path: '/v1/chat/completions',
  formatError: openaiError,
  operation: chatOperation(service.clients),
  answer: async ({ caller, id, body, signal }) => {
    const { clients } = service;
    const { request, stream, withUsage, results, userTexts, answerTool } = parseChat(body, clients);
    const read = stream || clients.activity;
    const newRequest = request === null ? null : () => withObjectFormat({ ...request, stream: read }, service, caller);
    const started = await startOrContinue(service, caller, { results, userTexts, newRequest }, signal);
    const run = answerAsCall(started, answerTool);
    if (stream) return { events: chatEvents(run, { request: id, withUsage, activity: clients.activity }) };
    return { status: 200, body: await chatCompletion(run, clients.activity) };
  },
});

const chatCompletion = async (run: ServedRun, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const end = await awaitAnswerEnd(run);
  const isAnswer = end.calls.length === 0;
  return {
    id: completionId(answerName(run)),
    object: 'chat.completion',
    created: epochSeconds(run.startedAt),
    model: run.agent,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: isAnswer ? end.answer.text : text === '' ? null : text,
          refusal: null,
          ...(activity === '' ? {} : { reasoning_content: activity }),
          ...(isAnswer ? {} : { tool_calls: end.calls.map(chatToolCall) }),
        },
        logprobs: null,
        finish_reason: finishReason(end),
      },
    ],
    usage: chatUsage(end.spent),
  };
};
