// How listing agents as models is described.
import type { JsonObject } from '#base';
import {
  agentNameSchema,
  inJson,
  openaiPathParameter,
  arraySchema,
  object,
  only,
  orError,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

const model = object({
  id: agentNameSchema,
  object: only('model'),
  created: { ...wholeNumberSchema, description: 'When the server was started, in seconds.' },
  owned_by: stringSchema,
  description: stringSchema,
});

export const modelsOperation: JsonObject = {
  operationId: 'openaiListModels',
  tags: ['OpenAI'],
  summary: 'List the agents that can be asked, as models',
  responses: orError({
    200: { description: 'The agents.', content: inJson(object({ object: only('list'), data: arraySchema(model) })) },
  }),
};

export const openaiModelOperation: JsonObject = {
  operationId: 'openaiReadModel',
  tags: ['OpenAI'],
  summary: 'Show one agent, as a model',
  parameters: [openaiPathParameter('model', 'The name of an agent.')],
  responses: orError({ 200: { description: 'The agent.', content: inJson(model) } }),
};
