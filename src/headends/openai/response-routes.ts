// Responses: made, at once or as they come, and looked at again.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Route, ServedRun, Serving } from '#contracts';
import { activityOf, answerOf, askedIn } from '#headends/wire';
import { runOfResponse } from './ids.ts';
import { keptResponse } from './kept-response.ts';
import { openaiError } from './openai-error.ts';
import { parseResponse } from './parse-response.ts';
import { recall } from './recall.ts';
import { responseEvents } from './response-events.ts';
import { messageItem, reasoningItem, responseObject } from './response-object.ts';
import type { ResponseHead } from './response-object.ts';
import { createResponseOperation, readResponseOperation } from './response-operations.ts';

export const responseRoutes = (serving: Serving): readonly Route[] => [
  {
    method: 'POST',
    path: '/v1/responses',
    form: openaiError,
    operation: createResponseOperation,
    answer: async ({ caller, body, signal }) => {
      const { clients } = serving;
      const { asked, stream, format, previous, dialog } = parseResponse(body, clients);
      const { input, history } = askedIn(await recall(serving, caller, { previous, dialog }), 'input');
      const before = history.length === 0 ? {} : { history };
      const read = stream || clients.activity;
      const run = await serving.begin(caller, { ...asked, input, ...before, stream: read }, signal);
      const head = { run: run.run, agent: run.agent, startedAt: run.startedAt, previous, format };
      if (stream) return { events: responseEvents(run, head, clients.activity) };
      return { status: 200, body: await finished(run, head, clients.activity) };
    },
  },
  {
    method: 'GET',
    path: '/v1/responses/:response',
    form: openaiError,
    operation: readResponseOperation,
    answer: async ({ caller, params, query }) => {
      if (query.get('stream') === 'true')
        throw new CloisterError('request_unsupported', 'stream: a response is streamed where it is made.');
      const found = await serving.find(caller, runOfResponse(params['response'] ?? '', 'The path'));
      return { status: 200, body: keptResponse(await found.report()) };
    },
  },
];

const finished = async (run: ServedRun, head: ResponseHead, activity: boolean): Promise<JsonObject> => {
  const done = activity ? await activityOf(run) : '';
  const outcome = await run.outcome;
  const { text, whole } = answerOf(outcome);
  const status = whole ? 'completed' : 'incomplete';
  const reasoning = done === '' ? [] : [reasoningItem(run.run, 0, done)];
  return responseObject(head, {
    status,
    output: [...reasoning, messageItem(run.run, text, status)],
    spent: outcome.spent,
  });
};
