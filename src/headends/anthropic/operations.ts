// The OpenAPI 3.1 operations of the Anthropic routes.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import {
  countRequest,
  errorSchema,
  integerSchema,
  messageRequest,
  messageSchema,
  modelListSchema,
  modelSchema,
  objectSchema,
  textSchema,
} from './schemas.ts';

const jsonContent = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

const errorResponse: JsonObject = {
  description: 'What went wrong, and what to do.',
  content: jsonContent(errorSchema),
};

const responses = (description: string, content: JsonObject): JsonObject => ({
  '200': { description, content },
  default: errorResponse,
});

const version: JsonObject = {
  name: 'anthropic-version',
  in: 'header',
  required: false,
  description: 'If this header is present, with any value, the response is in Anthropic’s format.',
  schema: { type: 'string' },
};

const queryParameter = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

export const listOperation: JsonObject = {
  operationId: 'listModelsAnthropic',
  tags: ['Anthropic'],
  summary: 'List the agents as models, in Anthropic’s format',
  parameters: [
    version,
    queryParameter('limit', 'Maximum number of agents.', { type: 'integer', minimum: 1, maximum: 1000, default: 20 }),
    queryParameter('after_id', 'List the agents after this one.', textSchema),
    queryParameter('before_id', 'List the agents before this one.', textSchema),
  ],
  responses: responses('One page of agents.', jsonContent(modelListSchema)),
};

export const anthropicModelOperation: JsonObject = {
  operationId: 'getModelAnthropic',
  tags: ['Anthropic'],
  summary: 'Get an agent as a model, in Anthropic’s format',
  parameters: [
    { name: 'model', in: 'path', required: true, description: 'The name of an agent.', schema: textSchema },
    version,
  ],
  responses: responses('The agent.', jsonContent(modelSchema)),
};

export const messageOperation = ({ tools }: ClientRules): JsonObject => ({
  operationId: 'createMessage',
  tags: ['Anthropic'],
  summary: 'Run an agent through Anthropic’s Messages API',
  description:
    'The last message is the request; the messages before it are the history. With `stream`, the answer is sent as server-sent events.',
  requestBody: { required: true, content: jsonContent(messageRequest(tools)) },
  responses: responses('The answer.', {
    ...jsonContent(messageSchema),
    'text/event-stream': {
      schema: {
        type: 'string',
        description:
          'message_start, then content_block_start, content_block_delta and content_block_stop for each block, message_delta with the stop reason and the usage, message_stop. If there is no answer, `error` ends the stream.',
      },
    },
  }),
});

export const countOperation = ({ tools }: ClientRules): JsonObject => ({
  operationId: 'countMessageTokens',
  tags: ['Anthropic'],
  summary: 'Estimate the tokens of the first prompt',
  description: 'Assumes four bytes per token. No model is called.',
  requestBody: { required: true, content: jsonContent(countRequest(tools)) },
  responses: responses('The estimate.', jsonContent(objectSchema({ input_tokens: integerSchema() }, ['input_tokens']))),
});
