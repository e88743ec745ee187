// JSON Schemas shared by the OpenAPI operations of this headend.
import type { JsonObject } from '#base';

export const stringSchema = { type: 'string' } as const;
export const wholeNumberSchema = { type: 'integer', minimum: 0 } as const;

export const objectOf = (
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
): JsonObject => ({
  type: 'object',
  properties,
  required: [...required],
});

export const arraySchema = (items: JsonObject): JsonObject => ({ type: 'array', items });
export const enumOf = (...values: readonly string[]): JsonObject => ({ type: 'string', enum: [...values] });
export const nullable = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });

export const agentNameSchema = { type: 'string', description: 'The name of an agent.' } as const;

export const jsonBody = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

/** A response body, complete or as events. */
export const jsonOrEventsBody = (schema: JsonObject, events: string): JsonObject => ({
  ...jsonBody(schema),
  'text/event-stream': { schema: { type: 'string', description: events } },
});

export const withErrorResponse = (responses: JsonObject): JsonObject => ({
  ...responses,
  default: {
    description: 'What went wrong, and what to do.',
    content: jsonBody(
      objectOf({
        error: objectOf({
          message: stringSchema,
          type: stringSchema,
          param: nullable(stringSchema),
          code: nullable(stringSchema),
        }),
      }),
    ),
  },
});

export const openaiPathParameter = (name: string, description: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: stringSchema,
});
