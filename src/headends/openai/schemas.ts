// JSON Schemas shared by the OpenAPI operations of this headend.
import type { JsonObject } from '#base';

export const stringSchema = { type: 'string' } as const;
export const wholeNumberSchema = { type: 'integer', minimum: 0 } as const;

/** The bytes of a file, in base64. */
export const dataUrl: JsonObject = { type: 'string', pattern: '^data:[^,]*;base64,' };

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

/** `allowed`: whether the operator allows client tools. If not, only one that the client forces: it stands for a schema. */
export const clientToolsSchema = (tool: JsonObject, allowed: boolean): JsonObject => ({
  ...arraySchema(tool),
  ...(allowed
    ? { maxItems: 128, description: 'Functions of the client that the agent may call in addition to its own tools.' }
    : {
        maxItems: 1,
        description:
          'Only a function that `tool_choice` forces: the answer is then a call of it. Other client tools are not allowed.',
      }),
});

/** `named`: the fields in which a client names the function that it forces. */
export const toolChoiceSchema = (named: JsonObject): JsonObject => ({
  anyOf: [enumOf('none', 'auto', 'required'), objectOf({ type: enumOf('function'), ...named })],
  description: 'A call can be forced only if there is one tool.',
});

/** `schemaFormat`: the format that brings a JSON Schema. */
export const answerFormatSchema = (schemaFormat: JsonObject): JsonObject => ({
  oneOf: [
    objectOf({ type: enumOf('text') }),
    {
      ...objectOf({ type: enumOf('json_object') }),
      description: 'Any JSON object, or what the agent’s own output schema describes.',
    },
    schemaFormat,
  ],
});

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
