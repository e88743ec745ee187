// How the addresses of agents are described.
import type { JsonObject } from '#base';
import { body, pathParameter, inQuery, json, jsonOrEvents, schemaRef, noAnswerResponse } from './operation-parts.ts';
import { formats } from './parsed-run-request.ts';

const tags = ['agents'];

export const listAgents: JsonObject = {
  operationId: 'listAgents',
  tags,
  summary: 'The agents that you may ask',
  responses: {
    200: json('The agents, in the order in which the operator gave them.', {
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

export const askByQuery: JsonObject = {
  operationId: 'askByQuery',
  tags,
  summary: 'Ask an agent',
  description: 'One run. It is cancelled when the connection is closed.',
  parameters: [
    agent,
    {
      ...inQuery('q', 'What you ask: text, or for an agent that takes JSON the text of that JSON.', { type: 'string' }),
      required: true,
    },
    inQuery('format', 'How the answer should look.', { enum: formats }),
    {
      name: 'schema',
      in: 'query',
      description: 'A JSON Schema for the answer.',
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    inQuery('conversation', 'A conversation of yours with that agent: begun, or gone on with.', { type: 'string' }),
    inQuery('budget_tokens', 'At most so many tokens.', number),
    inQuery('budget_usd', 'At most so many dollars.', number),
    inQuery('budget_ms', 'At most so many milliseconds.', number),
    inQuery('stream', 'Send the events of the run as they come.', flag),
    inQuery('details', 'Give the cells and the events of the run with the answer.', flag),
  ],
  responses: { 200: jsonOrEvents('The answer.', schemaRef('Outcome')), ...failures },
};

export const askByBody: JsonObject = {
  operationId: 'askByBody',
  tags,
  summary: 'Ask an agent',
  description:
    'One run. It is cancelled when the connection is closed, unless it is a resident one or `wait` is false: then it goes ' +
    'on, and can be followed at the address that is given.',
  parameters: [agent],
  requestBody: body(schemaRef('RunRequest')),
  responses: {
    200: jsonOrEvents('The answer; of a resident run with `wait`, the answer to its first message.', {
      anyOf: [schemaRef('Outcome'), schemaRef('Answer')],
    }),
    202: json('It has begun.', schemaRef('Begun')),
    ...failures,
  },
};
