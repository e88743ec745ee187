// The OpenAPI operations of the agent routes.
import type { JsonObject } from '#base';
import {
  requestBody,
  pathParameter,
  queryParameter,
  jsonResponse,
  jsonOrEventsResponse,
  schemaRef,
  noAnswerResponse,
} from './operation-parts.ts';
import { answerFormats } from './parsed-run-request.ts';

const tags = ['agents'];

export const listAgentsOperation: JsonObject = {
  operationId: 'listAgents',
  tags,
  summary: 'List the agents you can run',
  responses: {
    200: jsonResponse('The agents, in the order in which the operator listed them.', {
      type: 'object',
      required: ['version', 'agents'],
      properties: { version: { type: 'string' }, agents: { type: 'array', items: schemaRef('Agent') } },
    }),
  },
};

const agent = pathParameter('agent', 'The name of the agent.');

const failures = noAnswerResponse(schemaRef('Outcome'));

const number = { type: 'number', minimum: 0 };
const flag = { type: 'boolean', default: false };

export const askByQueryOperation: JsonObject = {
  operationId: 'askByQuery',
  tags,
  summary: 'Ask an agent',
  description: 'Starts one run. It is cancelled if the connection closes.',
  parameters: [
    agent,
    {
      ...queryParameter('q', 'The input: text, or a JSON object as text for an agent with JSON input.', {
        type: 'string',
      }),
      required: true,
    },
    queryParameter('format', 'Format of the answer.', { enum: answerFormats }),
    {
      name: 'schema',
      in: 'query',
      description: 'JSON Schema for the answer.',
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    queryParameter(
      'conversation',
      'The name of your conversation with this agent. Continues it, or starts it if it is new.',
      { type: 'string' },
    ),
    queryParameter('budget_tokens', 'Maximum number of tokens.', number),
    queryParameter('budget_usd', 'Maximum cost in US dollars.', number),
    queryParameter('budget_ms', 'Maximum duration in milliseconds.', number),
    queryParameter('stream', 'Stream the events of the run.', flag),
    queryParameter('details', 'Include the cells and the events of the run.', flag),
  ],
  responses: { 200: jsonOrEventsResponse('The answer.', schemaRef('Outcome')), ...failures },
};

export const askByBodyOperation: JsonObject = {
  operationId: 'askByBody',
  tags,
  summary: 'Ask an agent',
  description:
    'Starts one run. It is cancelled if the connection closes, unless it is resident or `wait` is false: then it keeps ' +
    'running, and you can follow it at the returned `events` path.',
  parameters: [agent],
  requestBody: requestBody(schemaRef('RunRequest')),
  responses: {
    200: jsonOrEventsResponse('The answer. For a resident run with `wait`, the answer to its first message.', {
      anyOf: [schemaRef('Outcome'), schemaRef('Answer')],
    }),
    202: jsonResponse('The run has started.', schemaRef('Begun')),
    ...failures,
  },
};
