// How the addresses of the agents in a run are described.
import type { JsonObject } from '#base';
import { body, emptyBody, pathParameter, json, schemaRef, noAnswerResponse } from './operation-parts.ts';
import { notRunningResponse, runParameter } from './run-operations.ts';

const tags = ['runs'];

const ofRun = (properties: JsonObject): JsonObject => ({
  type: 'object',
  required: ['run', ...Object.keys(properties)],
  properties: { run: { type: 'string' }, ...properties },
});

export const listLiveAgentsOperation: JsonObject = {
  operationId: 'listLivingAgents',
  tags,
  summary: 'The agents of a run that live and can be written to',
  parameters: [runParameter],
  responses: {
    200: json('The agents.', ofRun({ agents: { type: 'array', items: schemaRef('LivingAgent') } })),
    409: notRunningResponse,
  },
};

export const readAnswerOperation: JsonObject = {
  operationId: 'readMessages',
  tags,
  summary: 'What was asked and answered in a run',
  description: 'Of a resident run, while it lives, if it was started with a conversation; else that is refused.',
  parameters: [runParameter],
  responses: { 200: json('In order.', ofRun({ messages: { type: 'array', items: schemaRef('Said') } })) },
};

export const writeTo: JsonObject = {
  operationId: 'writeMessage',
  tags,
  summary: 'Write to an agent of a run, or on a topic',
  description:
    'A resident run that waits for mail takes a place first: when there is none, and no room in line, nothing is sent.',
  parameters: [runParameter],
  requestBody: body(schemaRef('Message')),
  responses: {
    200: json('What is answered to it.', schemaRef('Answer')),
    202: json('It is in the mailbox.', ofRun({ message: { type: 'string', description: 'Its id.' } })),
    409: notRunningResponse,
    ...noAnswerResponse(schemaRef('Answer')),
  },
};

export const finishAgent: JsonObject = {
  operationId: 'finishAgent',
  tags,
  summary: 'Ask an agent of a run to finish',
  description: 'It ends when it is done with what it does.',
  parameters: [runParameter, pathParameter('name', 'By the name that it is known by.')],
  responses: { 202: json('It was asked.', schemaRef('Begun')), 409: notRunningResponse },
};

export const finishRun: JsonObject = {
  operationId: 'finishRun',
  tags,
  summary: 'Ask a resident run to finish',
  description: 'It ends when it is done with what it does, and so do those that it has started.',
  parameters: [runParameter],
  requestBody: emptyBody,
  responses: { 202: json('It was asked.', schemaRef('Begun')), 409: notRunningResponse },
};
