// The OpenAPI operation of AG-UI requests.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';

const text: JsonObject = { type: 'string' };

const listOf = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'array',
  items: { type: 'object', properties, required: [...required] },
});

const input = ({ tools }: ClientRules): JsonObject => ({
  type: 'object',
  properties: {
    threadId: { ...text, description: 'Returned with the events. The client keeps the messages of its threads.' },
    runId: { ...text, description: 'Returned with the events. The id of the run here is in their metadata.' },
    messages: {
      ...listOf({ id: text, role: text, content: {} }, ['role']),
      description: 'The whole thread. The last message of the user is the request.',
    },
    tools: {
      ...listOf({ name: text, description: text, parameters: { type: 'object' } }, ['name']),
      maxItems: tools ? 128 : 0,
      description: tools ? 'Tools of the client that the agent may call.' : 'Client tools are not allowed here.',
    },
    context: {
      ...listOf({ description: text, value: text }, ['description', 'value']),
      description: 'Additional context.',
    },
    resume: {
      ...listOf({ interruptId: text, status: { type: 'string', enum: ['resolved', 'cancelled'] }, payload: {} }, [
        'interruptId',
        'status',
      ]),
      description: 'Answers to the interrupts that ended an earlier stream; then the messages have no effect.',
    },
  },
  required: ['threadId', 'runId', 'messages'],
});

export const agUiOperation = (rules: ClientRules): JsonObject => ({
  operationId: 'agUiRun',
  tags: ['AG-UI'],
  summary: 'Run an agent through AG-UI',
  description: '`state` and `forwardedProps` are accepted without effect.',
  parameters: [{ name: 'agent', in: 'path', required: true, description: 'The name of the agent.', schema: text }],
  requestBody: { required: true, content: { 'application/json': { schema: input(rules) } } },
  responses: {
    200: {
      description: 'The events of AG-UI 1.0, from RUN_STARTED to RUN_FINISHED or RUN_ERROR.',
      content: { 'text/event-stream': { schema: text } },
    },
  },
});
