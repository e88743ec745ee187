// Lists the agents of a caller and runs them.
import type { JsonObject } from '#base';
import { about, listOf, openObject, orNull, string } from '#base/shapes';
import type { Agent, HttpRoute, AgentService } from '#contracts';
import { askAgent, requestedAgent } from './ask-agent.ts';
import { jsonOrEventsReply, jsonReply, noAnswerReplies, restRoute } from './described-route.ts';
import { agentFactsShape, topologyShape } from './agent-shapes.ts';
import { agentShape, answerShape, begunShape, outcomeShape } from './reply-shapes.ts';
import { askQueryShape, runRequestShape } from './request-shapes.ts';
import { requestFromBody, requestFromQuery } from './run-request.ts';

export type RestWorld = {
  readonly version: string;
  /** The name of the workspace's folder; null in memory. */
  readonly workspace?: string | null;
  /** Removes secrets from a text that does not come from a run. */
  redact?(text: string): string;
};

const failures = noAnswerReplies(outcomeShape);

export const agentRoutes = (service: AgentService, world: RestWorld): readonly HttpRoute[] => [
  ...describingRoutes(service, world),
  ...askingRoutes(service),
];

const describingRoutes = (service: AgentService, world: RestWorld): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1',
    id: 'listAgents',
    tag: 'agents',
    summary: 'List the agents you can run',
    replies: {
      200: jsonReply(
        'The agents, in the order in which the operator listed them.',
        openObject({ version: string(), agents: listOf(agentShape) }),
      ),
    },
    answer: async ({ caller }) => {
      const agents = service.agents(caller).map((agent) => agentJson(agent, world));
      return { status: 200, body: { version: world.version, agents } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/agents',
    id: 'describeAgents',
    tag: 'agents',
    summary: 'Describe the agents you can run: models, tools, limits, and who calls, starts and writes to whom',
    description:
      'Agents below yours are named in `topology`. An operator is told about them too, and what `cloister check` finds.',
    replies: {
      200: jsonReply('The agents.', openObject({ agents: listOf(agentFactsShape), topology: topologyShape })),
    },
    answer: async ({ caller }) => {
      const { agents, ...topology } = await service.topology(caller);
      const described = agents.map((one) => ({
        ...one,
        description: world.redact?.(one.description) ?? one.description,
      }));
      return { status: 200, body: { agents: described, topology } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/agents/:agent/template',
    id: 'readTemplate',
    tag: 'agents',
    summary: 'Get the frontmatter of an agent: every key with its effective value, and where that comes from',
    replies: {
      200: jsonReply(
        'The frontmatter.',
        openObject({
          agent: string(),
          template: about(orNull(string()), 'YAML with comments; null if the agent was not read from an agent file.'),
        }),
      ),
    },
    find: (call) => requestedAgent(service, call),
    answer: async ({ caller }, { found: { name } }) => ({
      status: 200,
      body: { agent: name, template: service.template(caller, name) },
    }),
  }),
];

const askingRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/:agent',
    id: 'askByQuery',
    tag: 'agents',
    summary: 'Ask an agent',
    description: 'Starts one run. It is cancelled if the connection closes.',
    query: askQueryShape,
    replies: { 200: jsonOrEventsReply('The answer.', outcomeShape), ...failures },
    find: (call) => requestedAgent(service, call),
    answer: (call, { query, found }) => askAgent(service, call, requestFromQuery(query, found)),
  }),
  restRoute({
    method: 'POST',
    path: '/v1/:agent',
    id: 'askByBody',
    tag: 'agents',
    summary: 'Ask an agent',
    description:
      'Starts one run. It is cancelled if the connection closes, unless it is resident or `wait` is false: then it keeps ' +
      'running, and you can follow it at the returned `events` path.',
    body: runRequestShape,
    replies: {
      200: jsonOrEventsReply('The answer. For a resident run with `wait`, the answer to its first message.', {
        is: 'either',
        of: [outcomeShape, answerShape],
      }),
      202: jsonReply('The run has started.', begunShape),
      ...failures,
    },
    find: (call) => requestedAgent(service, call),
    answer: (call, { body, found }) => askAgent(service, call, requestFromBody(body, found)),
  }),
];

const agentJson = (agent: Agent, world: RestWorld): JsonObject => {
  const redact = (text: string): string => world.redact?.(text) ?? text;
  const {
    name,
    signature: { toolName, input, output },
    description,
    usage,
  } = agent;
  const path = `/v1/${encodeURIComponent(name)}`;
  return {
    name,
    toolName,
    description: redact(description),
    usage: redact(usage),
    input,
    output,
    team: agent.team !== null,
    addresses: { get: `${path}?q={q}`, post: path },
  };
};
