// Agents for Anthropic's clients: each one is a model.
import type { Json } from '#base';
import type { AdmittedRequest, HttpRoute, RouteReply, AgentService } from '#contracts';
import { startOrContinue, servedAgent } from '#headends/shared';
import { anthropicError } from './anthropic-error.ts';
import { estimateTokens } from './count-tokens.ts';
import { listModels, modelInfo } from './list-models.ts';
import { messageEvents } from './message-events.ts';
import { messageReply } from './message-reply.ts';
import { countOperation, listOperation, messageOperation, anthropicModelOperation } from './operations.ts';
import { parseCount, parseMessagesRequest } from './parse-message.ts';

/** Models count as made when they began to be served. */
export const anthropicRoutes = (serving: AgentService, world: { now(): number }): readonly HttpRoute[] => {
  const since = world.now();
  const form = anthropicError;
  return [
    {
      method: 'GET',
      path: '/v1/models',
      when: asAnthropic,
      form,
      operation: listOperation,
      answer: async (call) => reply(listModels(serving.agents(call.caller), call.query, since)),
    },
    {
      method: 'GET',
      path: '/v1/models/:model',
      when: asAnthropic,
      form,
      operation: anthropicModelOperation,
      answer: async (call) => reply(modelInfo(servedAgent(serving, call.caller, call.params['model'] ?? ''), since)),
    },
    {
      method: 'POST',
      path: '/v1/messages',
      form,
      operation: messageOperation(serving.clients),
      answer: (call) => answerMessage(serving, call),
    },
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      form,
      operation: countOperation(serving.clients),
      answer: async (call) => {
        const asked = parseCount(call.body, serving.clients);
        return reply({ input_tokens: estimateTokens(servedAgent(serving, call.caller, asked.agent), asked) });
      },
    },
  ];
};

const asAnthropic = (headers: Headers): boolean => headers.has('anthropic-version');

/** What can be refused is refused before the stream begins. */
const answerMessage = async (serving: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  const { asked, results, said, isAsked, stream, activity } = parseMessagesRequest(call.body, serving.clients);
  const wanted = stream || activity ? { ...asked, stream: true } : asked;
  const run = await startOrContinue(
    serving,
    call.caller,
    { results, said, asked: isAsked ? () => wanted : null },
    call.signal,
  );
  if (!stream) return reply(await messageReply(run, activity));
  return { events: messageEvents(run, { activity, request: call.id }) };
};

const reply = (body: Json): RouteReply => ({ status: 200, body });
