// How listing agents as models is described.
import type { JsonObject } from '#base';
import { agentName, inJson, inPath, listOf, object, only, orError, text, whole } from './schemas.ts';

const model = object({
  id: agentName,
  object: only('model'),
  created: { ...whole, description: 'When the server was started, in seconds.' },
  owned_by: text,
  description: text,
});

export const modelsOperation: JsonObject = {
  operationId: 'openaiListModels',
  tags: ['OpenAI'],
  summary: 'List the agents that can be asked, as models',
  responses: orError({
    200: { description: 'The agents.', content: inJson(object({ object: only('list'), data: listOf(model) })) },
  }),
};

export const modelOperation: JsonObject = {
  operationId: 'openaiReadModel',
  tags: ['OpenAI'],
  summary: 'Show one agent, as a model',
  parameters: [inPath('model', 'The name of an agent.')],
  responses: orError({ 200: { description: 'The agent.', content: inJson(model) } }),
};
