// The agents of a caller, listed as models.
import type { JsonObject } from '#base';
import type { Agent, HttpRoute, AgentService } from '#contracts';
import { servedAgent } from '#headends/shared';
import { seconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { openaiModelOperation, modelsOperation } from './model-operations.ts';

/** `since`: agents do not say when they were made; clients want a time. */
export const modelRoutes = (serving: AgentService, since: number): readonly HttpRoute[] => [
  {
    method: 'GET',
    path: '/v1/models',
    form: openaiError,
    operation: modelsOperation,
    answer: async ({ caller }) => ({
      status: 200,
      body: { object: 'list', data: serving.agents(caller).map((agent) => modelOf(agent, since)) },
    }),
  },
  {
    method: 'GET',
    path: '/v1/models/:model',
    form: openaiError,
    operation: openaiModelOperation,
    answer: async ({ caller, params }) => ({
      status: 200,
      body: modelOf(servedAgent(serving, caller, params['model'] ?? ''), since),
    }),
  },
];

const modelOf = ({ name, description }: Agent, since: number): JsonObject => ({
  id: name,
  object: 'model',
  created: seconds(since),
  owned_by: 'cloister',
  description,
});
