// How chat completions are described.
import type { JsonObject } from '#base';
import { agentName, inJson, inJsonOrEvents, listOf, object, only, orError, text, whole } from './schemas.ts';

const content: JsonObject = {
  anyOf: [text, listOf(object({ type: only('text'), text }))],
};

const message: JsonObject = {
  ...object({ role: only('user', 'assistant', 'system', 'developer'), content }),
  description: 'Messages of system and developer are taken only if the operator allows it.',
};

const responseFormat: JsonObject = {
  oneOf: [
    object({ type: only('text') }),
    {
      ...object({ type: only('json_object') }),
      description: 'For agents that have a schema of their own.',
    },
    object({
      type: only('json_schema'),
      json_schema: object({ name: text, schema: { type: 'object' }, strict: { type: 'boolean' } }, ['schema']),
    }),
  ],
};

const request = object(
  {
    model: agentName,
    messages: { ...listOf(message), minItems: 1, description: 'The dialog so far. The last one is the question.' },
    stream: { type: 'boolean', default: false },
    stream_options: object({ include_usage: { type: 'boolean' } }, []),
    response_format: responseFormat,
    n: { type: 'integer', enum: [1] },
    tools: { type: 'array', maxItems: 0, description: 'An agent has tools of its own.' },
  },
  ['model', 'messages'],
);

const completion = object({
  id: { ...text, description: '`chatcmpl-` and the id of the run.' },
  object: only('chat.completion'),
  created: whole,
  model: agentName,
  choices: listOf(
    object({
      index: whole,
      message: object(
        {
          role: only('assistant'),
          content: text,
          refusal: { type: 'null' },
          reasoning_content: { ...text, description: 'What was done meanwhile, if the operator lets it be shown.' },
        },
        ['role', 'content', 'refusal'],
      ),
      logprobs: { type: 'null' },
      finish_reason: { ...only('stop', 'length'), description: '`length`: it could not be finished.' },
    }),
  ),
  usage: object({
    prompt_tokens: whole,
    completion_tokens: whole,
    total_tokens: whole,
    prompt_tokens_details: object({ cached_tokens: whole, cache_write_tokens: whole }),
  }),
});

export const chatOperation: JsonObject = {
  operationId: 'openaiCreateChatCompletion',
  tags: ['OpenAI'],
  summary: 'Ask an agent, in the form of OpenAI chat completions',
  description: 'Other fields of that form are accepted and change nothing, or are refused by name.',
  requestBody: { required: true, content: inJson(request) },
  responses: orError({
    200: {
      description: 'The answer. The usage is that of the agent and of all that it asked.',
      content: inJsonOrEvents(
        completion,
        'Chunks of the answer, each an object `chat.completion.chunk`, then `[DONE]`.',
      ),
    },
  }),
};
