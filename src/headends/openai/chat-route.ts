// Chat completions: the dialog so far in, one answer out, at once or as it comes.
import type { JsonObject } from '#base';
import type { HttpRoute, ServedRun, AgentService } from '#contracts';
import { answerName, startOrContinue, endOf, collectPieces } from '#headends/shared';
import { chatToolCall, chatEvents, finishOf } from './chat-events.ts';
import { chatOperation } from './chat-operation.ts';
import { completionId, seconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { parseChat } from './parse-chat.ts';
import { chatUsage } from './usage.ts';

export const chatRoute = (serving: AgentService): HttpRoute => ({
  method: 'POST',
  path: '/v1/chat/completions',
  form: openaiError,
  operation: chatOperation(serving.clients),
  answer: async ({ caller, id, body, signal }) => {
    const { clients } = serving;
    const { asked, stream, withUsage, results, said } = parseChat(body, clients);
    const read = stream || clients.activity;
    const wanted = { results, said, asked: asked === null ? null : () => ({ ...asked, stream: read }) };
    const run = await startOrContinue(serving, caller, wanted, signal);
    if (stream) return { events: chatEvents(run, { request: id, withUsage, activity: clients.activity }) };
    return { status: 200, body: await completionOf(run, clients.activity) };
  },
});

const completionOf = async (run: ServedRun, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const end = await endOf(run);
  const isAnswer = end.calls.length === 0;
  return {
    id: completionId(answerName(run)),
    object: 'chat.completion',
    created: seconds(run.startedAt),
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
        finish_reason: finishOf(end),
      },
    ],
    usage: chatUsage(end.spent),
  };
};
