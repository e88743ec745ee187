// The OpenAPI operations of responses.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import { causesFieldSchema } from '#headends/shared';
import {
  agentNameSchema,
  answerFormatSchema,
  clientToolsSchema,
  toolChoiceSchema,
  jsonBody,
  jsonOrEventsBody,
  openaiPathParameter,
  arraySchema,
  dataUrl,
  objectOf,
  enumOf,
  withErrorResponse,
  nullable,
  stringSchema,
  wholeNumberSchema,
} from './schemas.ts';

/** Files come inside the request; the agent's model must take them. */
const part: JsonObject = {
  anyOf: [
    objectOf({ type: enumOf('input_text', 'output_text', 'text'), text: stringSchema }),
    objectOf({ type: enumOf('input_image'), image_url: dataUrl }),
    objectOf({ type: enumOf('input_file'), file_data: stringSchema, filename: stringSchema }, ['type', 'file_data']),
  ],
};

const message: JsonObject = {
  ...objectOf(
    {
      type: enumOf('message'),
      role: enumOf('user', 'assistant', 'system', 'developer'),
      content: { anyOf: [stringSchema, arraySchema(part)] },
    },
    ['role', 'content'],
  ),
  description: 'System and developer messages are refused unless the operator allows them.',
};

const reference: JsonObject = {
  ...objectOf({ type: enumOf('item_reference'), id: stringSchema }),
  description: 'An earlier answer to the same caller.',
};

const call: JsonObject = objectOf({
  type: enumOf('function_call'),
  call_id: stringSchema,
  name: stringSchema,
  arguments: stringSchema,
});

const approvalRequest: JsonObject = {
  ...objectOf({
    id: stringSchema,
    type: enumOf('mcp_approval_request'),
    name: stringSchema,
    arguments: stringSchema,
    server_label: enumOf('cloister'),
  }),
  description: 'A question to the client. Its run waits for the answer.',
};

const approvalResponse: JsonObject = {
  ...objectOf(
    {
      type: enumOf('mcp_approval_response'),
      approval_request_id: stringSchema,
      approve: { type: 'boolean' },
      reason: {
        ...stringSchema,
        description: 'Why not; the answer itself, if the name of the request is `ask_person`.',
      },
    },
    ['type', 'approval_request_id', 'approve'],
  ),
  description: 'If such items come last, their run continues.',
};

/** Only if client tools are allowed. */
const toolItems: readonly JsonObject[] = [
  call,
  {
    ...objectOf({
      type: enumOf('function_call_output'),
      call_id: stringSchema,
      output: { anyOf: [stringSchema, arraySchema(part)] },
    }),
    description: 'The result of a call. If such items come last, the run that waits for them continues.',
  },
];

const tool = objectOf(
  { type: enumOf('function'), name: stringSchema, description: stringSchema, parameters: { type: 'object' } },
  ['type', 'name'],
);

const format = answerFormatSchema(
  objectOf(
    { type: enumOf('json_schema'), name: stringSchema, schema: { type: 'object' }, strict: { type: 'boolean' } },
    ['type', 'schema'],
  ),
);

const request = (withTools: boolean): JsonObject =>
  objectOf(
    {
      model: agentNameSchema,
      input: {
        anyOf: [
          stringSchema,
          {
            ...arraySchema({
              anyOf: [
                message,
                reference,
                objectOf({ type: enumOf('reasoning') }),
                approvalRequest,
                approvalResponse,
                ...(withTools ? toolItems : []),
              ],
            }),
            minItems: 1,
          },
        ],
      },
      tools: clientToolsSchema(tool, withTools),
      tool_choice: toolChoiceSchema({ name: stringSchema }),
      instructions: { ...stringSchema, description: 'Refused unless the operator allows it.' },
      previous_response_id: { ...stringSchema, description: 'Continue from this response.' },
      stream: { type: 'boolean', default: false },
      text: objectOf({ format }, []),
    },
    ['model', 'input'],
  );

const responseFields = {
  id: { ...stringSchema, description: '`resp_` followed by the id of the run.' },
  object: enumOf('response'),
  created_at: wholeNumberSchema,
  status: enumOf('in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
  error: nullable(objectOf({ code: stringSchema, message: stringSchema })),
  incomplete_details: nullable(objectOf({ reason: stringSchema })),
  model: agentNameSchema,
  output: arraySchema({
    anyOf: [
      objectOf({
        id: stringSchema,
        type: enumOf('message'),
        role: enumOf('assistant'),
        status: enumOf('in_progress', 'completed', 'incomplete'),
        content: arraySchema(
          objectOf({ type: enumOf('output_text'), text: stringSchema, annotations: { type: 'array' } }),
        ),
      }),
      objectOf({
        id: stringSchema,
        type: enumOf('reasoning'),
        summary: arraySchema(objectOf({ type: enumOf('summary_text'), text: stringSchema })),
      }),
      call,
      approvalRequest,
    ],
  }),
  previous_response_id: nullable(stringSchema),
  usage: nullable(
    objectOf({
      input_tokens: wholeNumberSchema,
      input_tokens_details: objectOf({ cached_tokens: wholeNumberSchema, cache_write_tokens: wholeNumberSchema }),
      output_tokens: wholeNumberSchema,
      output_tokens_details: objectOf({ reasoning_tokens: wholeNumberSchema }),
      total_tokens: wholeNumberSchema,
    }),
  ),
};

const response: JsonObject = objectOf({ ...responseFields, cloister: causesFieldSchema }, Object.keys(responseFields));

export const createResponseOperation = ({ tools: withTools }: ClientRules): JsonObject => ({
  operationId: 'openaiCreateResponse',
  tags: ['OpenAI'],
  summary: 'Run an agent through OpenAI’s responses',
  description: 'Other fields of the OpenAI API are either accepted without effect or refused by name.',
  requestBody: { required: true, content: jsonBody(request(withTools)) },
  responses: withErrorResponse({
    200: {
      description: 'The answer. The usage covers the agent and all of its sub-agents.',
      content: jsonOrEventsBody(
        response,
        'Events from `response.created` to `response.completed`, `response.incomplete` or `response.failed`.',
      ),
    },
  }),
});

export const readResponseOperation = ({ tools: withTools }: ClientRules): JsonObject => ({
  operationId: 'openaiReadResponse',
  tags: ['OpenAI'],
  summary: 'Get an earlier response',
  ...(withTools
    ? {
        description:
          'Responses of a run with client tools are stored only for a limited time, and not across a restart.',
      }
    : {}),
  parameters: [openaiPathParameter('response', 'The id of a response to the same caller.')],
  responses: withErrorResponse({ 200: { description: 'The response.', content: jsonBody(response) } }),
});
