// The routes for Anthropic's clients: each agent is a model.
import { canonicalJson, utf8Bytes, CloisterError, isoTime } from '#base';
import type { Json, JsonObject } from '#base';
import type { AdmittedRequest, HttpRoute, RouteReply, AgentService, Agent, AgentRequest } from '#contracts';
import { answerAsCall, clientTools, startOrContinue } from '#headends/shared';
import { anthropicError } from './anthropic-error.ts';
import { messageEvents, messageReply } from './message-events.ts';
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
  const { request, results, userTexts, stream, activity, headers } = parsed;
  const newRequest = stream || activity ? { ...request, stream: true } : request;
  const started = await startOrContinue(
    service,
    call.caller,
    { results, userTexts, newRequest: () => newRequest, headers: call.headers, ...clientTools(request) },
    call.signal,
  );
  const run = answerAsCall(started, parsed.answerTool);
  if (!stream) return { ...okReply(await messageReply(run, activity)), headers };
  return { events: messageEvents(run, { activity, request: call.id }), headers };
};

const okReply = (body: Json): RouteReply => ({ status: 200, body });

// Estimates the length of the first prompt.
/**
 * Assumes four bytes per token. Counts the agent's definition and what the client sent, but not the tools of the agent's MCP servers:
 * those are unknown until a session starts.
 */
const estimateTokens = ({ definition }: Agent, request: AgentRequest): number => {
  const texts = [
    definition.prompt,
    definition.guidance,
    ...definition.tools.map(({ name, description, inputSchema }) => canonicalJson({ name, description, inputSchema })),
    ...(request.system ?? []),
    ...(request.context ?? []),
    ...(request.history ?? []).map(({ text }) => text),
    typeof request.input === 'string' ? request.input : canonicalJson(request.input),
    ...(request.tools ?? []).map((tool) => canonicalJson(tool)),
    ...(request.schema === undefined ? [] : [canonicalJson(request.schema)]),
  ];
  const files = [request.attachments, ...(request.history ?? []).map(({ attachments }) => attachments)].flat();
  return (
    Math.ceil(texts.reduce((bytes, text) => bytes + utf8Bytes(text), 0) / bytesPerToken) +
    files.filter((file) => file !== undefined).length * tokensPerFile
  );
};

/** About what an image counts. */
const tokensPerFile = 1_600;

const bytesPerToken = 4;

// Lists agents as models, in Anthropic's form.
/** `since`: epoch milliseconds. */
const modelInfo = (agent: Agent, since: number): JsonObject => ({
  type: 'model',
  id: agent.name,
  display_name: agent.name,
  description: agent.description,
  created_at: isoTime(since),
  lifecycle: 'active',
  line: null,
  capabilities: null,
  max_input_tokens: null,
  max_tokens: agent.caps.limits.maxOutputTokens ?? null,
  deprecated_at: null,
  retires_at: null,
});

/** One page of at most `limit` agents, after or before a given one. */
const listModels = (agents: readonly Agent[], query: URLSearchParams, since: number): JsonObject => {
  const limit = parseLimit(query);
  const [after, before] = [parseIndex(agents, query, 'after_id'), parseIndex(agents, query, 'before_id')];
  if (after !== null && before !== null)
    throw new CloisterError('request_invalid', 'after_id: cannot be combined with before_id.');
  const rest = agents.slice(after === null ? 0 : after + 1, before ?? agents.length);
  const page = before === null ? rest.slice(0, limit) : rest.slice(-limit);
  return {
    data: page.map((agent) => modelInfo(agent, since)),
    has_more: rest.length > page.length,
    first_id: page.at(0)?.name ?? null,
    last_id: page.at(-1)?.name ?? null,
  };
};

const [limitDefault, limitMax] = [20, 1000];

const parseLimit = (query: URLSearchParams): number => {
  const text = query.get('limit');
  if (text === null) return limitDefault;
  const limit = /^[0-9]{1,4}$/u.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > limitMax)
    throw new CloisterError('request_invalid', `limit: expected a whole number from 1 to ${limitMax}.`);
  return limit;
};

const parseIndex = (agents: readonly Agent[], query: URLSearchParams, name: string): number | null => {
  const id = query.get(name);
  if (id === null) return null;
  const index = agents.findIndex((agent) => agent.name === id);
  if (index === -1)
    throw new CloisterError('request_invalid', `${name}: no agent is called ${JSON.stringify(id.slice(0, 80))}.`);
  return index;
};
