// JSON Schemas of requests and responses, for the OpenAPI document.
import type { JsonObject } from '#base';

export const textSchema: JsonObject = { type: 'string' };

export const objectSchema = (
  properties: Readonly<Record<string, JsonObject>>,
  required: readonly string[],
  description?: string,
): JsonObject => ({
  type: 'object',
  properties,
  required,
  ...(description === undefined ? {} : { description }),
});

export const integerSchema = (description?: string): JsonObject => ({
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
const toolResultBlock = objectSchema(
  {
    type: { const: 'tool_result' },
    tool_use_id: textSchema,
    content: { oneOf: [textSchema, arrayOf(textBlock)] },
    is_error: { type: 'boolean' },
  },
  ['type', 'tool_use_id'],
  'The result of a call. If such blocks come last, the run that waits for them continues.',
);

/** `tools`: whether client tools are allowed. */
const textOrBlocks = (tools: boolean): JsonObject => ({
  oneOf: [
    textSchema,
    arrayOf({ oneOf: [textBlock, thinkingBlock, ...(tools ? [toolUseBlock, toolResultBlock] : [])] }),
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

export const countRequest = (tools: boolean): JsonObject =>
  objectSchema(requestProperties(tools), ['model', 'messages']);

export const messageRequest = (tools: boolean): JsonObject =>
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

export const messageSchema: JsonObject = objectSchema(
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
  },
  ['id', 'type', 'role', 'model', 'content', 'stop_reason', 'usage'],
);

export const modelSchema = objectSchema(
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

export const modelListSchema = objectSchema(
  { data: arrayOf(modelSchema), has_more: { type: 'boolean' }, first_id: orNull('string'), last_id: orNull('string') },
  ['data', 'has_more', 'first_id', 'last_id'],
);

export const errorSchema = objectSchema(
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
