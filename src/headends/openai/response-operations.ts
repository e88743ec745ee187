// How responses are described.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import {
  agentNameSchema,
  inJson,
  inJsonOrEvents,
  openaiPathParameter,
  arraySchema,
  object,
  only,
  orError,
  orNull,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

const part = object({ type: only('input_text', 'output_text', 'text'), text: stringSchema });

const message: JsonObject = {
  ...object(
    {
      type: only('message'),
      role: only('user', 'assistant', 'system', 'developer'),
      content: { anyOf: [stringSchema, arraySchema(part)] },
    },
    ['role', 'content'],
  ),
  description: 'Messages of system and developer are taken only if the operator allows it.',
};

const reference: JsonObject = {
  ...object({ type: only('item_reference'), id: stringSchema }),
  description: 'An earlier answer to the same token.',
};

const call: JsonObject = object({
  type: only('function_call'),
  call_id: stringSchema,
  name: stringSchema,
  arguments: stringSchema,
});

/** Where a client's tools are taken. */
const toolItems: readonly JsonObject[] = [
  call,
  {
    ...object({
      type: only('function_call_output'),
      call_id: stringSchema,
      output: { anyOf: [stringSchema, arraySchema(part)] },
    }),
    description: 'The result of a call. When such items are the last ones, the run that waits for them goes on.',
  },
];

const tools: JsonObject = {
  ...arraySchema(
    object({ type: only('function'), name: stringSchema, description: stringSchema, parameters: { type: 'object' } }, [
      'type',
      'name',
    ]),
  ),
  maxItems: 128,
  description: 'Functions of the client, which the agent may call besides its own tools.',
};

const format: JsonObject = {
  oneOf: [
    object({ type: only('text') }),
    { ...object({ type: only('json_object') }), description: 'For agents that have a schema of their own.' },
    object({ type: only('json_schema'), name: stringSchema, schema: { type: 'object' }, strict: { type: 'boolean' } }, [
      'type',
      'schema',
    ]),
  ],
};

const request = (taken: boolean): JsonObject =>
  object(
    {
      model: agentNameSchema,
      input: {
        anyOf: [
          stringSchema,
          {
            ...arraySchema({
              anyOf: [message, reference, object({ type: only('reasoning') }), ...(taken ? toolItems : [])],
            }),
            minItems: 1,
          },
        ],
      },
      ...(taken ? { tools } : {}),
      instructions: { ...stringSchema, description: 'Taken only if the operator allows it.' },
      previous_response_id: { ...stringSchema, description: 'Go on from this answer.' },
      stream: { type: 'boolean', default: false },
      text: object({ format }, []),
    },
    ['model', 'input'],
  );

const response = (taken: boolean): JsonObject =>
  object({
    id: { ...stringSchema, description: '`resp_` and the id of the run.' },
    object: only('response'),
    created_at: wholeNumberSchema,
    status: only('in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
    error: orNull(object({ code: stringSchema, message: stringSchema })),
    incomplete_details: orNull(object({ reason: stringSchema })),
    model: agentNameSchema,
    output: arraySchema({
      anyOf: [
        object({
          id: stringSchema,
          type: only('message'),
          role: only('assistant'),
          status: only('in_progress', 'completed', 'incomplete'),
          content: arraySchema(
            object({ type: only('output_text'), text: stringSchema, annotations: { type: 'array' } }),
          ),
        }),
        object({
          id: stringSchema,
          type: only('reasoning'),
          summary: arraySchema(object({ type: only('summary_text'), text: stringSchema })),
        }),
        ...(taken ? [call] : []),
      ],
    }),
    previous_response_id: orNull(stringSchema),
    usage: orNull(
      object({
        input_tokens: wholeNumberSchema,
        input_tokens_details: object({ cached_tokens: wholeNumberSchema, cache_write_tokens: wholeNumberSchema }),
        output_tokens: wholeNumberSchema,
        output_tokens_details: object({ reasoning_tokens: wholeNumberSchema }),
        total_tokens: wholeNumberSchema,
      }),
    ),
  });

export const createResponseOperation = ({ tools: taken }: ClientRules): JsonObject => ({
  operationId: 'openaiCreateResponse',
  tags: ['OpenAI'],
  summary: 'Ask an agent, in the form of OpenAI responses',
  description: 'Other fields of that form are accepted and change nothing, or are refused by name.',
  requestBody: { required: true, content: inJson(request(taken)) },
  responses: orError({
    200: {
      description: 'The answer. The usage is that of the agent and of all that it asked.',
      content: inJsonOrEvents(
        response(taken),
        'Events from `response.created` to `response.completed`, `response.incomplete` or `response.failed`.',
      ),
    },
  }),
});

export const readResponseOperation = ({ tools: taken }: ClientRules): JsonObject => ({
  operationId: 'openaiReadResponse',
  tags: ['OpenAI'],
  summary: 'Look at an earlier answer again',
  ...(taken
    ? {
        description:
          'Of a run that asked its client for results, single responses are kept for a while, and not over a restart.',
      }
    : {}),
  parameters: [openaiPathParameter('response', 'The id of a response to the same token.')],
  responses: orError({ 200: { description: 'The response.', content: inJson(response(taken)) } }),
});
