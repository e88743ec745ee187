// What the descriptions of routes are put together from.
import type { JsonObject } from '#base';

export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

export const json = (description: string, schema: JsonObject): JsonObject => ({
  description,
  content: { 'application/json': { schema } },
});

/** A reply that may also come as events. */
export const jsonOrEvents = (description: string, schema: JsonObject): JsonObject => ({
  description,
  content: { 'application/json': { schema }, ...events },
});

export const eventsOnly = (description: string): JsonObject => ({ description, content: events });

/** A run that gives no answer says why in the value that it would have answered with. */
export const noAnswerResponse = (value: JsonObject): JsonObject => {
  const either = { anyOf: [value, schemaRef('Error')] };
  return {
    422: json('A limit was reached, and there is no answer.', value),
    429: json('A budget is used up and there is no answer, or all places are taken.', either),
    502: json('A model or a tool failed, and there is no answer.', value),
    504: json('It took too long, and there is no answer.', value),
    default: json('Anything else that went wrong, with the run or before it.', either),
  };
};

export const body = (schema: JsonObject): JsonObject => ({
  required: true,
  content: { 'application/json': { schema } },
});

/** Of a request that is said by its address alone: it may be left out. */
export const emptyBody: JsonObject = { ...body({ type: 'object', maxProperties: 0 }), required: false };

export const pathParameter = (name: string, description: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});

export const inQuery = (name: string, description: string, schema: JsonObject): JsonObject => ({
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
        '`outcome`, with the value that is given without streaming, or `error`.',
    },
  },
};
