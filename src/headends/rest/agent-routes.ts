// Lists the agents of a caller and runs them.
import type { JsonObject } from '#base';
import type { Agent, HttpRoute, AgentService } from '#contracts';
import { askAgent, requestedAgent } from './ask-agent.ts';
import { askByBodyOperation, askByQueryOperation, listAgentsOperation } from './agent-operations.ts';
import { parseBody } from './parse-body.ts';
import { parseQuery, refuseQuery } from './parse-query.ts';
import { restError } from './rest-error.ts';

export type RestWorld = {
  readonly version: string;
  /** Removes secrets from a text that does not come from a run. */
  redact?(text: string): string;
};

export const agentRoutes = (service: AgentService, world: RestWorld): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1',
    formatError: restError,
    operation: listAgentsOperation,
    answer: async ({ caller, query }) => {
      refuseQuery(query);
      const agents = service.agents(caller).map((agent) => agentJson(agent, world));
      return { status: 200, body: { version: world.version, agents } };
    },
  },
  {
    method: 'GET',
    path: '/v1/:agent',
    formatError: restError,
    operation: askByQueryOperation,
    answer: async (call) => askAgent(service, call, parseQuery(call.query, requestedAgent(service, call))),
  },
  {
    method: 'POST',
    path: '/v1/:agent',
    formatError: restError,
    operation: askByBodyOperation,
    answer: async (call) => {
      refuseQuery(call.query);
      return askAgent(service, call, parseBody(call.body, requestedAgent(service, call)));
    },
  },
];

const agentJson = (agent: Agent, world: RestWorld): JsonObject => {
  const redact = (text: string): string => world.redact?.(text) ?? text;
  const { name, toolName, description, usage, input, output } = agent;
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
