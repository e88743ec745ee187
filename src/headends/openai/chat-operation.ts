// The OpenAPI operation of chat completions.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import {
  agentNameSchema,
  answerFormatSchema,
  clientToolsSchema,
  toolChoiceSchema,
  jsonBody,
  jsonOrEventsBody,
  arraySchema,
  objectOf,
  enumOf,
  withErrorResponse,
  nullable,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

const content: JsonObject = {
  anyOf: [stringSchema, arraySchema(objectOf({ type: enumOf('text'), text: stringSchema }))],
};

const message: JsonObject = {
  ...objectOf({ role: enumOf('user', 'assistant', 'system', 'developer'), content }),
  description: 'System and developer messages are refused unless the operator allows them.',
};

const calls = arraySchema(
  objectOf({
    id: stringSchema,
    type: enumOf('function'),
    function: objectOf({ name: stringSchema, arguments: stringSchema }),
  }),
);

/** Only if client tools are allowed. */
const toolMessages: readonly JsonObject[] = [
  objectOf({ role: enumOf('assistant'), content: nullable(content), tool_calls: calls }, ['role', 'tool_calls']),
  {
    ...objectOf({ role: enumOf('tool'), tool_call_id: stringSchema, content }),
    description: 'The result of a call. If such messages come last, the run that waits for them continues.',
  },
];

const tool = objectOf({
  type: enumOf('function'),
  function: objectOf({ name: stringSchema, description: stringSchema, parameters: { type: 'object' } }, ['name']),
});

const responseFormat = answerFormatSchema(
  objectOf({
    type: enumOf('json_schema'),
    json_schema: objectOf({ name: stringSchema, schema: { type: 'object' }, strict: { type: 'boolean' } }, ['schema']),
  }),
);

const request = (withTools: boolean): JsonObject =>
  objectOf(
    {
      model: agentNameSchema,
      messages: {
        ...arraySchema(withTools ? { anyOf: [message, ...toolMessages] } : message),
        minItems: 1,
        description: 'The dialog so far. The last message is the request.',
      },
      stream: { type: 'boolean', default: false },
      stream_options: objectOf({ include_usage: { type: 'boolean' } }, []),
      response_format: responseFormat,
      n: { type: 'integer', enum: [1] },
      tools: clientToolsSchema(tool, withTools),
      tool_choice: toolChoiceSchema({ function: objectOf({ name: stringSchema }) }),
    },
    ['model', 'messages'],
  );

const completion: JsonObject = objectOf({
  id: { ...stringSchema, description: '`chatcmpl-` followed by the id of the run.' },
  object: enumOf('chat.completion'),
  created: wholeNumberSchema,
  model: agentNameSchema,
  choices: arraySchema(
    objectOf({
      index: wholeNumberSchema,
      message: objectOf(
        {
          role: enumOf('assistant'),
          content: nullable(stringSchema),
          tool_calls: calls,
          refusal: { type: 'null' },
          reasoning_content: {
            ...stringSchema,
            description: 'What sub-agents and tools did, if the operator shows it.',
          },
        },
        ['role', 'content', 'refusal'],
      ),
      logprobs: { type: 'null' },
      finish_reason: {
        ...enumOf('stop', 'length', 'tool_calls'),
        description: '`length`: the answer is incomplete.',
      },
    }),
  ),
  usage: objectOf({
    prompt_tokens: wholeNumberSchema,
    completion_tokens: wholeNumberSchema,
    total_tokens: wholeNumberSchema,
    prompt_tokens_details: objectOf({ cached_tokens: wholeNumberSchema, cache_write_tokens: wholeNumberSchema }),
  }),
});

export const chatOperation = ({ tools: withTools }: ClientRules): JsonObject => ({
  operationId: 'openaiCreateChatCompletion',
  tags: ['OpenAI'],
  summary: 'Run an agent through OpenAI’s chat completions',
  description: 'Other fields of the OpenAI API are either accepted without effect or refused by name.',
  requestBody: { required: true, content: jsonBody(request(withTools)) },
  responses: withErrorResponse({
    200: {
      description: 'The answer. The usage covers the agent and all of its sub-agents.',
      content: jsonOrEventsBody(
        completion,
        'Chunks of the answer, each a `chat.completion.chunk` object, then `[DONE]`.',
      ),
    },
  }),
});
