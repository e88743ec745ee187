// The OpenAPI operations of the agents in a run.
import type { JsonObject } from '#base';
import {
  requestBody,
  emptyBody,
  pathParameter,
  queryParameter,
  jsonResponse,
  schemaRef,
  noAnswerResponse,
} from './operation-parts.ts';
import { notRunningResponse, runParameter } from './run-operations.ts';

const tags = ['runs'];

const withRun = (properties: JsonObject): JsonObject => ({
  type: 'object',
  required: ['run', ...Object.keys(properties)],
  properties: { run: { type: 'string' }, ...properties },
});

export const listLiveAgentsOperation: JsonObject = {
  operationId: 'listLivingAgents',
  tags,
  summary: 'List the live agents of a run',
  parameters: [runParameter],
  responses: {
    200: jsonResponse('The agents.', withRun({ agents: { type: 'array', items: schemaRef('LivingAgent') } })),
    409: notRunningResponse,
  },
};

export const spawnAgentOperation: JsonObject = {
  operationId: 'spawnAgent',
  tags,
  summary: 'Start an agent under a live agent of a run',
  description:
    'The `spawns` of the agent above decide what can be started, and how much; the result goes to that agent as a message. An idle resident run needs a run slot first.',
  parameters: [runParameter],
  requestBody: requestBody(schemaRef('Spawn')),
  responses: {
    201: jsonResponse('The agent was started.', schemaRef('StartedAgent')),
    403: jsonResponse('The agent above may not start it, or not now.', schemaRef('Error')),
    409: notRunningResponse,
  },
};

export const readMessagesOperation: JsonObject = {
  operationId: 'readMessages',
  tags,
  summary: 'List the messages and answers of a run',
  description:
    'What an agent says unasked is marked. `delivered` is false until a client has taken a message: with its answer, from the events, or by asking for those after it.',
  parameters: [
    runParameter,
    queryParameter(
      'after',
      'The id of the last message that you have taken: it and those before it are delivered, and those after it returned.',
      {
        type: 'string',
      },
    ),
  ],
  responses: {
    200: jsonResponse(
      'The messages, in order.',
      withRun({ messages: { type: 'array', items: schemaRef('RunMessage') } }),
    ),
  },
};

export const sendMessageOperation: JsonObject = {
  operationId: 'writeMessage',
  tags,
  summary: 'Send a message to an agent of a run, or publish it to a topic',
  description:
    'An idle resident run needs a run slot first. If no slot is free and the queue is full, nothing is sent.',
  parameters: [runParameter],
  requestBody: requestBody(schemaRef('Message')),
  responses: {
    200: jsonResponse('The answer to the message.', schemaRef('Answer')),
    202: jsonResponse(
      'The message is in the mailbox.',
      withRun({ message: { type: 'string', description: 'The id of the message.' } }),
    ),
    409: notRunningResponse,
    ...noAnswerResponse(schemaRef('Answer')),
  },
};

export const finishAgentOperation: JsonObject = {
  operationId: 'finishAgent',
  tags,
  summary: 'Ask an agent of a run to finish',
  description: 'The agent ends once its current work is done.',
  parameters: [runParameter, pathParameter('name', 'The name of the agent within the run.')],
  responses: { 202: jsonResponse('The request to finish was delivered.', schemaRef('Begun')), 409: notRunningResponse },
};

export const finishRunOperation: JsonObject = {
  operationId: 'finishRun',
  tags,
  summary: 'Ask a resident run to finish',
  description: 'The run ends once its current work is done, and so do the agents it has started.',
  parameters: [runParameter],
  requestBody: emptyBody,
  responses: { 202: jsonResponse('The request to finish was delivered.', schemaRef('Begun')), 409: notRunningResponse },
};
