// Lists the agents of a caller as models.
import type { JsonObject } from '#base';
import type { Agent, HttpRoute, AgentService } from '#contracts';
import { epochSeconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import {
  agentNameSchema,
  jsonBody,
  openaiPathParameter,
  arraySchema,
  objectOf,
  enumOf,
  withErrorResponse,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

/** `since`: clients expect a creation time, and agents have none, so all models get this one. */
export const modelRoutes = (service: AgentService, since: number): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1/models',
    formatError: openaiError,
    operation: modelsOperation,
    answer: async ({ caller }) => ({
      status: 200,
      body: { object: 'list', data: service.agents(caller).map((agent) => openaiModel(agent, since)) },
    }),
  },
  {
    method: 'GET',
    path: '/v1/models/:model',
    formatError: openaiError,
    operation: openaiModelOperation,
    answer: async ({ caller, params }) => ({
      status: 200,
      body: openaiModel(service.agent(caller, params['model'] ?? ''), since),
    }),
  },
];

const openaiModel = ({ name, description }: Agent, since: number): JsonObject => ({
  id: name,
  object: 'model',
  created: epochSeconds(since),
  owned_by: 'cloister',
  description,
});

// The OpenAPI operations that list agents as models.
const model = objectOf({
  id: agentNameSchema,
  object: enumOf('model'),
  created: { ...wholeNumberSchema, description: 'When the server started, in epoch seconds.' },
  owned_by: stringSchema,
  description: stringSchema,
});

const modelsOperation: JsonObject = {
  operationId: 'openaiListModels',
  tags: ['OpenAI'],
  summary: 'List the agents as models',
  responses: withErrorResponse({
    200: {
      description: 'The agents.',
      content: jsonBody(objectOf({ object: enumOf('list'), data: arraySchema(model) })),
    },
  }),
};

const openaiModelOperation: JsonObject = {
  operationId: 'openaiReadModel',
  tags: ['OpenAI'],
  summary: 'Get one agent as a model',
  parameters: [openaiPathParameter('model', 'The name of an agent.')],
  responses: withErrorResponse({ 200: { description: 'The agent.', content: jsonBody(model) } }),
};
