// The description of the interface, as OpenAPI 3.1 operations.
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

const failed: JsonObject = { description: 'What is wrong, and what to do.', content: jsonContent(errorSchema) };

const responses = (description: string, content: JsonObject): JsonObject => ({
  '200': { description, content },
  default: failed,
});

const version: JsonObject = {
  name: 'anthropic-version',
  in: 'header',
  required: false,
  description: 'With it, whatever it says, the answer has the form of Anthropic.',
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
  summary: 'List the agents as models, as Anthropic does',
  parameters: [
    version,
    queryParameter('limit', 'How many at most.', { type: 'integer', minimum: 1, maximum: 1000, default: 20 }),
    queryParameter('after_id', 'Those after this one.', textSchema),
    queryParameter('before_id', 'Those before this one.', textSchema),
  ],
  responses: responses('One page of agents.', jsonContent(modelListSchema)),
};

export const anthropicModelOperation: JsonObject = {
  operationId: 'getModelAnthropic',
  tags: ['Anthropic'],
  summary: 'Describe an agent as a model, as Anthropic does',
  parameters: [
    { name: 'model', in: 'path', required: true, description: 'The name of an agent.', schema: textSchema },
    version,
  ],
  responses: responses('The agent.', jsonContent(modelSchema)),
};

export const messageOperation = ({ tools }: ClientRules): JsonObject => ({
  operationId: 'createMessage',
  tags: ['Anthropic'],
  summary: 'Ask an agent, as with the Messages API of Anthropic',
  description:
    'The last message is what is asked; what stands before it was said before. With `stream`, the answer comes as server-sent events.',
  requestBody: { required: true, content: jsonContent(messageRequest(tools)) },
  responses: responses('The answer.', {
    ...jsonContent(messageSchema(tools)),
    'text/event-stream': {
      schema: {
        type: 'string',
        description:
          'message_start, then content_block_start, content_block_delta and content_block_stop for each block, message_delta with the reason for the end and the usage, message_stop. `error`, if there is no answer.',
      },
    },
  }),
});

export const countOperation = ({ tools }: ClientRules): JsonObject => ({
  operationId: 'countMessageTokens',
  tags: ['Anthropic'],
  summary: 'Estimate the tokens of a first prompt',
  description: 'Four bytes are taken for a token. Nothing is asked of a model.',
  requestBody: { required: true, content: jsonContent(countRequest(tools)) },
  responses: responses('The estimate.', jsonContent(objectSchema({ input_tokens: integerSchema() }, ['input_tokens']))),
});
