// Building blocks of OpenAPI operations.
import type { JsonObject } from '#base';

export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

export const jsonResponse = (description: string, schema: JsonObject): JsonObject => ({
  description,
  content: { 'application/json': { schema } },
});

/** A response that is JSON or a stream of events. */
export const jsonOrEventsResponse = (description: string, schema: JsonObject): JsonObject => ({
  description,
  content: { 'application/json': { schema }, ...events },
});

export const eventsResponse = (description: string): JsonObject => ({ description, content: events });

/** A run without an answer reports the reason in the same value that would hold the answer. */
export const noAnswerResponse = (value: JsonObject): JsonObject => {
  const either = { anyOf: [value, schemaRef('Error')] };
  return {
    422: jsonResponse('A limit was reached before there was an answer.', value),
    429: jsonResponse('The budget was used up before there was an answer, or the server is busy.', either),
    502: jsonResponse('A model or a tool failed before there was an answer.', value),
    504: jsonResponse('The run timed out before there was an answer.', value),
    default: jsonResponse('Any other error, in the run or before it.', either),
  };
};

export const requestBody = (schema: JsonObject): JsonObject => ({
  required: true,
  content: { 'application/json': { schema } },
});

/** For a request that its path describes completely. The body may be omitted. */
export const emptyBody: JsonObject = { ...requestBody({ type: 'object', maxProperties: 0 }), required: false };

export const pathParameter = (name: string, description: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});

export const queryParameter = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'query',
  description,
  schema,
});

const events = {
  'text/event-stream': {
    schema: {
      type: 'string',
      description:
        'Each event of the run: `event` is its type, `id` its id if it is recorded, `data` its JSON. The last one is ' +
        '`outcome`, with the value that is returned without streaming, or `error`.',
    },
  },
};
