// The OpenAPI operations that list agents as models.
import type { JsonObject } from '#base';
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

const model = objectOf({
  id: agentNameSchema,
  object: enumOf('model'),
  created: { ...wholeNumberSchema, description: 'When the server started, in epoch seconds.' },
  owned_by: stringSchema,
  description: stringSchema,
});

export const modelsOperation: JsonObject = {
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

export const openaiModelOperation: JsonObject = {
  operationId: 'openaiReadModel',
  tags: ['OpenAI'],
  summary: 'Get one agent as a model',
  parameters: [openaiPathParameter('model', 'The name of an agent.')],
  responses: withErrorResponse({ 200: { description: 'The agent.', content: jsonBody(model) } }),
};
