// Agents for Anthropic's clients: each one is a model.
import type { Json } from '#base';
import type { Call, Route, RouteReply, Serving } from '#contracts';
import { beginOrGoOn, servedAgent } from '#headends/wire';
import { anthropicError } from './anthropic-error.ts';
import { countTokens } from './count-tokens.ts';
import { listModels, modelInfo } from './list-models.ts';
import { messageEvents } from './message-events.ts';
import { messageReply } from './message-reply.ts';
import { countOperation, listOperation, messageOperation, modelOperation } from './operations.ts';
import { parseCount, parseMessage } from './parse-message.ts';

/** Models count as made when they began to be served. */
export const anthropicRoutes = (serving: Serving, world: { now(): number }): readonly Route[] => {
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
      operation: modelOperation,
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
        return reply({ input_tokens: countTokens(servedAgent(serving, call.caller, asked.agent), asked) });
      },
    },
  ];
};

const asAnthropic = (headers: Headers): boolean => headers.has('anthropic-version');

/** What can be refused is refused before the stream begins. */
const answerMessage = async (serving: Serving, call: Call): Promise<RouteReply> => {
  const { asked, results, said, isAsked, stream, activity } = parseMessage(call.body, serving.clients);
  const wanted = stream || activity ? { ...asked, stream: true } : asked;
  const run = await beginOrGoOn(
    serving,
    call.caller,
    { results, said, asked: isAsked ? () => wanted : null },
    call.signal,
  );
  if (!stream) return reply(await messageReply(run, activity));
  return { events: messageEvents(run, { activity, request: call.id }) };
};

const reply = (body: Json): RouteReply => ({ status: 200, body });
