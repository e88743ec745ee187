// Chat completions: the dialog so far in, one answer out, at once or as it comes.
import type { JsonObject } from '#base';
import type { Route, RunOutcome, ServedRun, Serving } from '#contracts';
import { activityOf, answerOf } from '#headends/wire';
import { chatEvents } from './chat-events.ts';
import { chatOperation } from './chat-operation.ts';
import { completionId, seconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { parseChat } from './parse-chat.ts';
import { chatUsage } from './usage.ts';

export const chatRoute = (serving: Serving): Route => ({
  method: 'POST',
  path: '/v1/chat/completions',
  form: openaiError,
  operation: chatOperation,
  answer: async ({ caller, id, body, signal }) => {
    const { clients } = serving;
    const { asked, stream, withUsage } = parseChat(body, clients);
    const run = await serving.begin(caller, { ...asked, stream: stream || clients.activity }, signal);
    if (stream) return { events: chatEvents(run, { request: id, withUsage, activity: clients.activity }) };
    const activity = clients.activity ? await activityOf(run) : '';
    return { status: 200, body: completionOf(run, await run.outcome, activity) };
  },
});

const completionOf = (run: ServedRun, outcome: RunOutcome, activity: string): JsonObject => {
  const { text, whole } = answerOf(outcome);
  return {
    id: completionId(run.run),
    object: 'chat.completion',
    created: seconds(run.startedAt),
    model: run.agent,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text,
          refusal: null,
          ...(activity === '' ? {} : { reasoning_content: activity }),
        },
        logprobs: null,
        finish_reason: whole ? 'stop' : 'length',
      },
    ],
    usage: chatUsage(outcome.spent),
  };
};
