// JSON Schemas that several descriptions of this interface use.
import type { JsonObject } from '#base';

export const stringSchema = { type: 'string' } as const;
export const wholeNumberSchema = { type: 'integer', minimum: 0 } as const;

export const object = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required: [...required],
});

export const arraySchema = (items: JsonObject): JsonObject => ({ type: 'array', items });
export const only = (...values: readonly string[]): JsonObject => ({ type: 'string', enum: [...values] });
export const orNull = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });

export const agentNameSchema = { type: 'string', description: 'The name of an agent.' } as const;

export const inJson = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

/** An answer, at once or as events. */
export const inJsonOrEvents = (schema: JsonObject, events: string): JsonObject => ({
  ...inJson(schema),
  'text/event-stream': { schema: { type: 'string', description: events } },
});

export const orError = (responses: JsonObject): JsonObject => ({
  ...responses,
  default: {
    description: 'Why there is no answer.',
    content: inJson(
      object({
        error: object({
          message: stringSchema,
          type: stringSchema,
          param: orNull(stringSchema),
          code: orNull(stringSchema),
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
