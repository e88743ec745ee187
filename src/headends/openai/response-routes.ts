// Responses: created, complete or streamed, and read again.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { AgentRequest, Caller, HttpRoute, RouteReply, ServedRun, AgentService } from '#contracts';
import {
  answerAsCall,
  answerName,
  clientTools,
  splitDialog,
  startOrContinue,
  awaitAnswerEnd,
  collectPieces,
} from '#headends/shared';
import { approvalItem, continueApproved } from './approvals.ts';
import { withObjectFormat } from './parse-tools.ts';
import { readResponse, callItem, messageItem, reasoningItem, responseObject } from './response-object.ts';
import { openaiError } from './openai-error.ts';
import { parseResponse, resolveEarlierResponses } from './parse-response.ts';
import type { ParsedResponseRequest } from './parse-response.ts';
import { responseEvents } from './response-events.ts';
import type { ResponseHead } from './response-object.ts';
import { createResponseOperation, readResponseOperation } from './response-operations.ts';

export const responseRoutes = (service: AgentService): readonly HttpRoute[] => [
  {
    method: 'POST',
    path: '/v1/responses',
    formatError: openaiError,
    operation: createResponseOperation(service.clients),
    answer: async ({ caller, body, signal, headers: sent }) => {
      const { clients } = service;
      const parsed = parseResponse(body, clients);
      const { stream, format, previous, tools, results, approvals, userTexts, request, dialog, headers } = parsed;
      const reply = async (run: ServedRun, name: string): Promise<RouteReply> => {
        const head = { run: name, agent: run.agent, startedAt: run.startedAt, previous, format, tools };
        if (stream) return { events: responseEvents(run, head, clients.activity), headers };
        return { status: 200, body: await completeResponse(run, head, clients.activity), headers };
      };
      if (approvals.length > 0) {
        const continued = await continueApproved(service, caller, { approvals, previous, headers: sent }, signal);
        return reply(continued.run, continued.name);
      }
      const read = stream || clients.activity;
      const newRequest = () => completeRequest(service, caller, { request, previous, dialog, results }, read);
      const from = { results, userTexts, newRequest, headers: sent, ...clientTools(request) };
      const started = await startOrContinue(service, caller, from, signal);
      const run = answerAsCall(started, parsed.answerTool);
      return reply(run, answerName(run));
    },
  },
  {
    method: 'GET',
    path: '/v1/responses/:response',
    formatError: openaiError,
    operation: readResponseOperation(service.clients),
    answer: async ({ caller, params, query }) => {
      if (query.get('stream') === 'true')
        throw new CloisterError('request_unsupported', 'stream: only a new response can be streamed.');
      return { status: 200, body: await readResponse(service, caller, params['response'] ?? '') };
    },
  },
];

const completeRequest = async (
  service: AgentService,
  caller: Caller,
  { request, ...earlier }: Pick<ParsedResponseRequest, 'request' | 'previous' | 'dialog' | 'results'>,
  stream: boolean,
): Promise<AgentRequest> => {
  const said = splitDialog(await resolveEarlierResponses(service, caller, earlier), 'input');
  const complete = { ...request, ...said, stream };
  return withObjectFormat(complete, service, caller);
};

/** Ends with the run, or when the client is asked. */
const completeResponse = async (run: ServedRun, head: ResponseHead, shown: boolean): Promise<JsonObject> => {
  const answer = answerResponse(run, head, shown);
  if (run.asked === undefined) return answer;
  const asked = run
    .asked()
    .then((questions) => ({ status: 'completed' as const, output: questions.map(approvalItem) }));
  return Promise.race([answer, asked.then((state) => responseObject(head, state))]);
};

const answerResponse = async (run: ServedRun, head: ResponseHead, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const { answer, calls, spent, causes } = await awaitAnswerEnd(run);
  const status = answer.whole ? 'completed' : 'incomplete';
  const reasoning = activity === '' ? [] : [reasoningItem(head.run, 0, activity)];
  const messageText = calls.length === 0 ? answer.text : text;
  const message = calls.length > 0 && messageText === '' ? [] : [messageItem(head.run, messageText, status)];
  return responseObject(head, {
    status,
    output: [...reasoning, ...message, ...calls.map((call) => callItem(call, 'completed'))],
    spent,
    causes,
  });
};
