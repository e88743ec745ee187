// The agents of a caller, listed as models.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, Route, Serving } from '#contracts';
import { seconds } from './ids.ts';
import { openaiError } from './openai-error.ts';
import { modelOperation, modelsOperation } from './model-operations.ts';

/** `since`: agents do not say when they were made; clients want a time. */
export const modelRoutes = (serving: Serving, since: number): readonly Route[] => [
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
    operation: modelOperation,
    answer: async ({ caller, params }) => {
      const agent = serving.agents(caller).find(({ name }) => name === params['model']);
      if (agent === undefined) throw new CloisterError('agent_unknown', 'GET /v1/models lists what there is.');
      return { status: 200, body: modelOf(agent, since) };
    },
  },
];

const modelOf = ({ name, description }: Agent, since: number): JsonObject => ({
  id: name,
  object: 'model',
  created: seconds(since),
  owned_by: 'cloister',
  description,
});
