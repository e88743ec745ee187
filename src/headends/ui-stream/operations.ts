// The OpenAPI operations of the UI message stream.
import type { JsonObject } from '#base';
import type { ClientRules } from '#contracts';
import { chatIdCharsMax } from './chat-runs.ts';

const text: JsonObject = { type: 'string' };

const parameter = (name: string, description: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: text,
});

const agent = parameter('agent', 'The name of the agent.');
const chat = parameter('chat', 'The id of the chat, as the client sent it.');

const stream: JsonObject = {
  description: 'Chunks of the AI SDK’s UI message stream, then `[DONE]`.',
  headers: { 'x-vercel-ai-ui-message-stream': { description: 'The version of the stream: v1.', schema: text } },
  content: { 'text/event-stream': { schema: text } },
};

const message: JsonObject = {
  type: 'object',
  properties: { id: text, role: { type: 'string', enum: ['user', 'assistant', 'system'] }, parts: { type: 'array' } },
  required: ['role', 'parts'],
};

const tool: JsonObject = {
  type: 'object',
  properties: { name: text, description: text, parameters: { type: 'object' } },
  required: ['name'],
};

const request = ({ tools }: ClientRules): JsonObject => ({
  type: 'object',
  properties: {
    id: { ...text, maxLength: chatIdCharsMax, description: 'The id of the chat.' },
    messages: {
      type: 'array',
      items: message,
      description: 'The whole chat. The last message is the request, or has the answers to approval requests.',
    },
    trigger: { type: 'string', enum: ['submit-message', 'regenerate-message'] },
    messageId: { ...text, description: 'The message that is written again.' },
    resumable: {
      type: 'boolean',
      default: false,
      description: 'The run continues when the client disconnects. Otherwise it is cancelled.',
    },
    tools: {
      type: 'array',
      maxItems: tools ? 128 : 0,
      items: tool,
      description: tools ? 'Tools of the client that the agent may call.' : 'Client tools are not allowed here.',
    },
  },
  required: ['id', 'messages'],
});

export const chatOperation = (rules: ClientRules): JsonObject => ({
  operationId: 'uiStreamChat',
  tags: ['AI SDK UI'],
  summary: 'Run an agent through the AI SDK’s UI message stream',
  description: 'What `useChat` sends. Other fields are accepted without effect.',
  parameters: [agent],
  requestBody: { required: true, content: { 'application/json': { schema: request(rules) } } },
  responses: { 200: stream },
});

export const resumeOperation: JsonObject = {
  operationId: 'uiStreamResume',
  tags: ['AI SDK UI'],
  summary: 'Read the stream of a chat again, from the start of its message',
  parameters: [agent, chat],
  responses: { 200: stream, 204: { description: 'Nothing runs in this chat.' } },
};

export const stopOperation: JsonObject = {
  operationId: 'uiStreamStop',
  tags: ['AI SDK UI'],
  summary: 'Cancel the run of a chat',
  parameters: [agent, chat],
  responses: { 204: { description: 'Nothing runs in this chat any more.' } },
};
