// The OpenAPI 3.1 operations of the Anthropic routes.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import { causesFieldSchema } from '#headends/shared';

// JSON Schemas of requests and responses, for the OpenAPI document.
const textSchema: JsonObject = { type: 'string' };

const objectSchema = (
  properties: Readonly<Record<string, JsonObject>>,
  required: readonly string[],
  description?: string,
): JsonObject => ({
  type: 'object',
  properties,
  required,
  ...(description === undefined ? {} : { description }),
});

const integerSchema = (description?: string): JsonObject => ({
  type: 'integer',
  minimum: 0,
  ...(description === undefined ? {} : { description }),
});

const arrayOf = (items: JsonObject): JsonObject => ({ type: 'array', items });
const orNull = (type: string): JsonObject => ({ type: [type, 'null'] });

const textBlock = objectSchema({ type: { const: 'text' }, text: textSchema }, ['type', 'text']);
const thinkingBlock = objectSchema(
  { type: { const: 'thinking' }, thinking: textSchema, signature: textSchema },
  ['type', 'thinking', 'signature'],
  'What sub-agents and tools did, if the operator shows it.',
);

const toolUseBlock = objectSchema(
  { type: { const: 'tool_use' }, id: textSchema, name: textSchema, input: { type: 'object' } },
  ['type', 'id', 'name', 'input'],
  'A call of one of the client’s tools.',
);
const fileBlock = objectSchema(
  {
    type: { type: 'string', enum: ['image', 'document'] },
    title: textSchema,
    source: {
      oneOf: [
        objectSchema({ type: { const: 'base64' }, media_type: textSchema, data: textSchema }, [
          'type',
          'media_type',
          'data',
        ]),
        objectSchema({ type: { const: 'text' }, media_type: textSchema, data: textSchema }, ['type', 'data']),
      ],
    },
  },
  ['type', 'source'],
  'A file. The agent’s model must take it.',
);
const toolResultBlock = objectSchema(
  {
    type: { const: 'tool_result' },
    tool_use_id: textSchema,
    content: { oneOf: [textSchema, arrayOf({ oneOf: [textBlock, fileBlock] })] },
    is_error: { type: 'boolean' },
  },
  ['type', 'tool_use_id'],
  'The result of a call. If such blocks come last, the run that waits for them continues.',
);

/** `tools`: whether client tools are allowed. */
const textOrBlocks = (tools: boolean): JsonObject => ({
  oneOf: [
    textSchema,
    arrayOf({ oneOf: [textBlock, fileBlock, thinkingBlock, ...(tools ? [toolUseBlock, toolResultBlock] : [])] }),
  ],
});

const toolSchema = objectSchema({ name: textSchema, description: textSchema, input_schema: { type: 'object' } }, [
  'name',
]);

const formatSchema = objectSchema({ type: { const: 'json_schema' }, schema: { type: 'object' } }, ['type', 'schema']);

const taskBudgetSchema = objectSchema(
  {
    type: { const: 'tokens' },
    total: { type: 'integer', minimum: 1 },
    remaining: { type: 'integer', minimum: 1 },
  },
  ['type', 'total'],
  'Token limit for the whole run, all of its agents together.',
);

const requestProperties = (tools: boolean): Readonly<Record<string, JsonObject>> => ({
  model: { type: 'string', description: 'The name of an agent.' },
  messages: arrayOf(
    objectSchema({ role: { type: 'string', enum: ['user', 'assistant', 'system'] }, content: textOrBlocks(tools) }, [
      'role',
      'content',
    ]),
  ),
  system: {
    oneOf: [textSchema, arrayOf(textBlock)],
    description: 'Context for the agent. Refused unless the operator allows it.',
  },
  output_config: objectSchema(
    { format: formatSchema, effort: orNull('string'), task_budget: taskBudgetSchema },
    [],
    'With a format, the answer is JSON that matches the schema.',
  ),
  output_format: formatSchema,
  thinking: { type: 'object', description: 'With type `disabled`, the activity of sub-agents and tools is not shown.' },
  tools: {
    ...arrayOf(toolSchema),
    ...(tools
      ? { maxItems: 128, description: 'Tools of the client that the agent may call in addition to its own.' }
      : {
          maxItems: 1,
          description:
            'Only a tool that `tool_choice` forces: the answer is then a call of it. Other client tools are not allowed.',
        }),
  },
  tool_choice: objectSchema(
    { type: { type: 'string', enum: ['auto', 'none', 'any', 'tool'] }, name: textSchema },
    ['type'],
    'A call can be forced only if there is one tool.',
  ),
});

const countRequest = (tools: boolean): JsonObject => objectSchema(requestProperties(tools), ['model', 'messages']);

const messageRequest = (tools: boolean): JsonObject =>
  objectSchema(
    {
      ...requestProperties(tools),
      max_tokens: {
        type: 'integer',
        minimum: 1,
        description: 'Required, without effect: the agent itself limits the length of an answer.',
      },
      stream: { type: 'boolean', default: false },
    },
    ['model', 'messages', 'max_tokens'],
  );

const usageSchema = objectSchema(
  {
    input_tokens: integerSchema('Without cache reads and cache writes.'),
    cache_creation_input_tokens: integerSchema(),
    cache_read_input_tokens: integerSchema(),
    output_tokens: integerSchema(),
  },
  ['input_tokens', 'output_tokens'],
  'Usage of the agent and all of its sub-agents.',
);

const messageSchema: JsonObject = objectSchema(
  {
    id: { type: 'string', description: '`msg_` followed by the id of the run.' },
    type: { const: 'message' },
    role: { const: 'assistant' },
    model: textSchema,
    content: arrayOf({ oneOf: [textBlock, thinkingBlock, toolUseBlock] }),
    stop_reason: {
      type: 'string',
      enum: ['end_turn', 'max_tokens', 'tool_use'],
      description: '`max_tokens`: the answer is incomplete.',
    },
    stop_sequence: { type: 'null' },
    usage: usageSchema,
    cloister: causesFieldSchema,
  },
  ['id', 'type', 'role', 'model', 'content', 'stop_reason', 'usage'],
);

const modelSchema = objectSchema(
  {
    type: { const: 'model' },
    id: textSchema,
    display_name: textSchema,
    description: textSchema,
    created_at: { type: 'string', format: 'date-time' },
    max_tokens: orNull('integer'),
  },
  ['type', 'id', 'display_name', 'created_at'],
);

const modelListSchema = objectSchema(
  { data: arrayOf(modelSchema), has_more: { type: 'boolean' }, first_id: orNull('string'), last_id: orNull('string') },
  ['data', 'has_more', 'first_id', 'last_id'],
);

const errorSchema = objectSchema(
  {
    type: { const: 'error' },
    error: objectSchema(
      { type: textSchema, message: textSchema, details: objectSchema({ error_code: textSchema }, ['error_code']) },
      ['type', 'message'],
    ),
    request_id: textSchema,
  },
  ['type', 'error', 'request_id'],
);

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
