// How responses are described.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import {
  agentName,
  inJson,
  inJsonOrEvents,
  inPath,
  listOf,
  object,
  only,
  orError,
  orNull,
  text,
  whole,
} from './schemas.ts';

const part = object({ type: only('input_text', 'output_text', 'text'), text });

const message: JsonObject = {
  ...object(
    {
      type: only('message'),
      role: only('user', 'assistant', 'system', 'developer'),
      content: { anyOf: [text, listOf(part)] },
    },
    ['role', 'content'],
  ),
  description: 'Messages of system and developer are taken only if the operator allows it.',
};

const reference: JsonObject = {
  ...object({ type: only('item_reference'), id: text }),
  description: 'An earlier answer to the same token.',
};

const call: JsonObject = object({ type: only('function_call'), call_id: text, name: text, arguments: text });

/** Where a client's tools are taken. */
const toolItems: readonly JsonObject[] = [
  call,
  {
    ...object({
      type: only('function_call_output'),
      call_id: text,
      output: { anyOf: [text, listOf(part)] },
    }),
    description: 'The result of a call. When such items are the last ones, the run that waits for them goes on.',
  },
];

const tools: JsonObject = {
  ...listOf(
    object({ type: only('function'), name: text, description: text, parameters: { type: 'object' } }, ['type', 'name']),
  ),
  maxItems: 128,
  description: 'Functions of the client, which the agent may call besides its own tools.',
};

const format: JsonObject = {
  oneOf: [
    object({ type: only('text') }),
    { ...object({ type: only('json_object') }), description: 'For agents that have a schema of their own.' },
    object({ type: only('json_schema'), name: text, schema: { type: 'object' }, strict: { type: 'boolean' } }, [
      'type',
      'schema',
    ]),
  ],
};

const request = (taken: boolean): JsonObject =>
  object(
    {
      model: agentName,
      input: {
        anyOf: [
          text,
          {
            ...listOf({
              anyOf: [message, reference, object({ type: only('reasoning') }), ...(taken ? toolItems : [])],
            }),
            minItems: 1,
          },
        ],
      },
      ...(taken ? { tools } : {}),
      instructions: { ...text, description: 'Taken only if the operator allows it.' },
      previous_response_id: { ...text, description: 'Go on from this answer.' },
      stream: { type: 'boolean', default: false },
      text: object({ format }, []),
    },
    ['model', 'input'],
  );

const response = (taken: boolean): JsonObject =>
  object({
    id: { ...text, description: '`resp_` and the id of the run.' },
    object: only('response'),
    created_at: whole,
    status: only('in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
    error: orNull(object({ code: text, message: text })),
    incomplete_details: orNull(object({ reason: text })),
    model: agentName,
    output: listOf({
      anyOf: [
        object({
          id: text,
          type: only('message'),
          role: only('assistant'),
          status: only('in_progress', 'completed', 'incomplete'),
          content: listOf(object({ type: only('output_text'), text, annotations: { type: 'array' } })),
        }),
        object({ id: text, type: only('reasoning'), summary: listOf(object({ type: only('summary_text'), text })) }),
        ...(taken ? [call] : []),
      ],
    }),
    previous_response_id: orNull(text),
    usage: orNull(
      object({
        input_tokens: whole,
        input_tokens_details: object({ cached_tokens: whole, cache_write_tokens: whole }),
        output_tokens: whole,
        output_tokens_details: object({ reasoning_tokens: whole }),
        total_tokens: whole,
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
  parameters: [inPath('response', 'The id of a response to the same token.')],
  responses: orError({ 200: { description: 'The response.', content: inJson(response(taken)) } }),
});
