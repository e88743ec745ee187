// An example input for an agent: every required property of its schema, with a placeholder of the right type.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

const depthMax = 8;

export const inputSkeleton = (schema: JsonObject): JsonObject => {
  const value = valueFor(schema, 0);
  return isObject(value) ? value : {};
};

const valueFor = (schema: Json | undefined, depth: number): Json => {
  if (!isObject(schema) || depth > depthMax) return 'text';
  const { const: only, default: usual, enum: choices, examples } = schema;
  const given = only ?? usual ?? firstOf(examples) ?? firstOf(choices);
  if (given !== undefined) return given;
  switch (firstOf(schema['type']) ?? schema['type'] ?? ('properties' in schema ? 'object' : 'string')) {
    case 'object':
      return objectFor(schema, depth);
    case 'array':
      return Number(schema['minItems'] ?? 0) > 0 ? [valueFor(schema['items'], depth + 1)] : [];
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'text';
  }
};

const objectFor = ({ properties, required }: JsonObject, depth: number): JsonObject => {
  const known = isObject(properties) ? properties : {};
  const names = Array.isArray(required) ? required.map(String) : [];
  return Object.fromEntries(names.map((name) => [name, valueFor(known[name], depth + 1)]));
};

const firstOf = (list: Json | undefined): Json | undefined => (Array.isArray(list) ? (list[0] as Json) : undefined);
