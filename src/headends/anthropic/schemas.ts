// What is sent and what is answered, as JSON Schemas for the description of the interface.
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

const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items });
const orNull = (type: string): JsonObject => ({ type: [type, 'null'] });

const textBlock = objectSchema({ type: { const: 'text' }, text: textSchema }, ['type', 'text']);
const thinkingBlock = objectSchema(
  { type: { const: 'thinking' }, thinking: textSchema, signature: textSchema },
  ['type', 'thinking', 'signature'],
  'What sub-agents and tools did meanwhile, where the operator shows it.',
);

const useBlock = objectSchema(
  { type: { const: 'tool_use' }, id: textSchema, name: textSchema, input: { type: 'object' } },
  ['type', 'id', 'name', 'input'],
  'A call of one of the client’s tools.',
);
const resultBlock = objectSchema(
  {
    type: { const: 'tool_result' },
    tool_use_id: textSchema,
    content: { oneOf: [textSchema, listOf(textBlock)] },
    is_error: { type: 'boolean' },
  },
  ['type', 'tool_use_id'],
  'The result of a call. When such blocks are the last ones, the run that waits for them goes on.',
);

/** `tools`: those of a client are taken. */
const textOrBlocks = (tools: boolean): JsonObject => ({
  oneOf: [textSchema, listOf({ oneOf: [textBlock, thinkingBlock, ...(tools ? [useBlock, resultBlock] : [])] })],
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
  'The run may use no more, all of its agents together.',
);

const askedProperties = (tools: boolean): Readonly<Record<string, JsonObject>> => ({
  model: { type: 'string', description: 'The name of an agent.' },
  messages: listOf(
    objectSchema({ role: { type: 'string', enum: ['user', 'assistant', 'system'] }, content: textOrBlocks(tools) }, [
      'role',
      'content',
    ]),
  ),
  system: {
    oneOf: [textSchema, listOf(textBlock)],
    description: 'Something that the agent should know, where the operator allows it. Else it is refused.',
  },
  output_config: objectSchema(
    { format: formatSchema, effort: orNull('string'), task_budget: taskBudgetSchema },
    [],
    'A format: the answer is JSON that fits the schema.',
  ),
  output_format: formatSchema,
  thinking: { type: 'object', description: 'Of type disabled: nothing of what others do meanwhile is shown.' },
  ...(tools
    ? {
        tools: {
          ...listOf(toolSchema),
          maxItems: 128,
          description: 'Tools of the client, which the agent may call besides its own.',
        },
      }
    : {}),
});

export const countRequest = (tools: boolean): JsonObject => objectSchema(askedProperties(tools), ['model', 'messages']);

export const messageRequest = (tools: boolean): JsonObject =>
  objectSchema(
    {
      ...askedProperties(tools),
      max_tokens: {
        type: 'integer',
        minimum: 1,
        description: 'Must be there and is without effect: the length of an answer is bounded by the agent itself.',
      },
      stream: { type: 'boolean', default: false },
    },
    ['model', 'messages', 'max_tokens'],
  );

const usageSchema = objectSchema(
  {
    input_tokens: integerSchema('Without what was read from a cache or written there.'),
    cache_creation_input_tokens: integerSchema(),
    cache_read_input_tokens: integerSchema(),
    output_tokens: integerSchema(),
  },
  ['input_tokens', 'output_tokens'],
  'Of the agent and all that worked for it.',
);

export const messageSchema = (tools: boolean): JsonObject =>
  objectSchema(
    {
      id: { type: 'string', description: 'msg_ and the id of the run.' },
      type: { const: 'message' },
      role: { const: 'assistant' },
      model: textSchema,
      content: listOf({ oneOf: [textBlock, thinkingBlock, ...(tools ? [useBlock] : [])] }),
      stop_reason: {
        type: 'string',
        enum: ['end_turn', 'max_tokens', ...(tools ? ['tool_use'] : [])],
        description: 'max_tokens: the answer is not whole.',
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
  { data: listOf(modelSchema), has_more: { type: 'boolean' }, first_id: orNull('string'), last_id: orNull('string') },
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
