// How chat completions are described.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import {
  agentNameSchema,
  inJson,
  inJsonOrEvents,
  arraySchema,
  object,
  only,
  orError,
  orNull,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

const content: JsonObject = {
  anyOf: [stringSchema, arraySchema(object({ type: only('text'), text: stringSchema }))],
};

const message: JsonObject = {
  ...object({ role: only('user', 'assistant', 'system', 'developer'), content }),
  description: 'Messages of system and developer are taken only if the operator allows it.',
};

const calls = arraySchema(
  object({
    id: stringSchema,
    type: only('function'),
    function: object({ name: stringSchema, arguments: stringSchema }),
  }),
);

/** Where a client's tools are taken. */
const toolMessages: readonly JsonObject[] = [
  object({ role: only('assistant'), content: orNull(content), tool_calls: calls }, ['role', 'tool_calls']),
  {
    ...object({ role: only('tool'), tool_call_id: stringSchema, content }),
    description: 'The result of a call. When such messages are the last ones, the run that waits for them goes on.',
  },
];

const tools: JsonObject = {
  ...arraySchema(
    object({
      type: only('function'),
      function: object({ name: stringSchema, description: stringSchema, parameters: { type: 'object' } }, ['name']),
    }),
  ),
  maxItems: 128,
  description: 'Functions of the client, which the agent may call besides its own tools.',
};

const noTools: JsonObject = { type: 'array', maxItems: 0, description: 'An agent has tools of its own.' };

const responseFormat: JsonObject = {
  oneOf: [
    object({ type: only('text') }),
    {
      ...object({ type: only('json_object') }),
      description: 'For agents that have a schema of their own.',
    },
    object({
      type: only('json_schema'),
      json_schema: object({ name: stringSchema, schema: { type: 'object' }, strict: { type: 'boolean' } }, ['schema']),
    }),
  ],
};

const request = (taken: boolean): JsonObject =>
  object(
    {
      model: agentNameSchema,
      messages: {
        ...arraySchema(taken ? { anyOf: [message, ...toolMessages] } : message),
        minItems: 1,
        description: 'The dialog so far. The last one is the question.',
      },
      stream: { type: 'boolean', default: false },
      stream_options: object({ include_usage: { type: 'boolean' } }, []),
      response_format: responseFormat,
      n: { type: 'integer', enum: [1] },
      tools: taken ? tools : noTools,
    },
    ['model', 'messages'],
  );

const completion = (taken: boolean): JsonObject =>
  object({
    id: { ...stringSchema, description: '`chatcmpl-` and the id of the run.' },
    object: only('chat.completion'),
    created: wholeNumberSchema,
    model: agentNameSchema,
    choices: arraySchema(
      object({
        index: wholeNumberSchema,
        message: object(
          {
            role: only('assistant'),
            content: taken ? orNull(stringSchema) : stringSchema,
            ...(taken ? { tool_calls: calls } : {}),
            refusal: { type: 'null' },
            reasoning_content: {
              ...stringSchema,
              description: 'What was done meanwhile, if the operator lets it be shown.',
            },
          },
          ['role', 'content', 'refusal'],
        ),
        logprobs: { type: 'null' },
        finish_reason: {
          ...only('stop', 'length', ...(taken ? ['tool_calls'] : [])),
          description: '`length`: it could not be finished.',
        },
      }),
    ),
    usage: object({
      prompt_tokens: wholeNumberSchema,
      completion_tokens: wholeNumberSchema,
      total_tokens: wholeNumberSchema,
      prompt_tokens_details: object({ cached_tokens: wholeNumberSchema, cache_write_tokens: wholeNumberSchema }),
    }),
  });

export const chatOperation = ({ tools: taken }: ClientRules): JsonObject => ({
  operationId: 'openaiCreateChatCompletion',
  tags: ['OpenAI'],
  summary: 'Ask an agent, in the form of OpenAI chat completions',
  description: 'Other fields of that form are accepted and change nothing, or are refused by name.',
  requestBody: { required: true, content: inJson(request(taken)) },
  responses: orError({
    200: {
      description: 'The answer. The usage is that of the agent and of all that it asked.',
      content: inJsonOrEvents(
        completion(taken),
        'Chunks of the answer, each an object `chat.completion.chunk`, then `[DONE]`.',
      ),
    },
  }),
});
