// The routes for Anthropic's clients: each agent is a model.
import type { Json } from '#base';
import type { AdmittedRequest, HttpRoute, RouteReply, AgentService } from '#contracts';
import { answerAsCall, startOrContinue } from '#headends/shared';
import { anthropicError } from './anthropic-error.ts';
import { estimateTokens } from './count-tokens.ts';
import { listModels, modelInfo } from './list-models.ts';
import { messageEvents } from './message-events.ts';
import { messageReply } from './message-reply.ts';
import { countOperation, listOperation, messageOperation, anthropicModelOperation } from './operations.ts';
import { parseCount, parseMessagesRequest } from './parse-message.ts';

/** The creation time of every model is the start of the server. */
export const anthropicRoutes = (service: AgentService, world: { now(): number }): readonly HttpRoute[] => {
  const since = world.now();
  const formatError = anthropicError;
  return [
    {
      method: 'GET',
      path: '/v1/models',
      when: isAnthropicClient,
      formatError,
      operation: listOperation,
      answer: async (call) => okReply(listModels(service.agents(call.caller), call.query, since)),
    },
    {
      method: 'GET',
      path: '/v1/models/:model',
      when: isAnthropicClient,
      formatError,
      operation: anthropicModelOperation,
      answer: async (call) => okReply(modelInfo(service.agent(call.caller, call.params['model'] ?? ''), since)),
    },
    {
      method: 'POST',
      path: '/v1/messages',
      formatError,
      operation: messageOperation(service.clients),
      answer: (call) => answerMessage(service, call),
    },
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      formatError,
      operation: countOperation(service.clients),
      answer: async (call) => {
        const request = parseCount(call.body, service.clients);
        return okReply({ input_tokens: estimateTokens(service.agent(call.caller, request.agent), request) });
      },
    },
  ];
};

const isAnthropicClient = (headers: Headers): boolean => headers.has('anthropic-version');

/** Everything that can be refused is refused before the stream starts. */
const answerMessage = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  const parsed = parseMessagesRequest(call.body, service.clients);
  const { request, results, userTexts, hasNewInput, stream, activity } = parsed;
  const newRequest = stream || activity ? { ...request, stream: true } : request;
  const started = await startOrContinue(
    service,
    call.caller,
    { results, userTexts, newRequest: hasNewInput ? () => newRequest : null },
    call.signal,
  );
  const run = answerAsCall(started, parsed.answerTool);
  if (!stream) return okReply(await messageReply(run, activity));
  return { events: messageEvents(run, { activity, request: call.id }) };
};

const okReply = (body: Json): RouteReply => ({ status: 200, body });
