// Which schemas a vendor can enforce while the model writes.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isObject } from '#base';

/** The schema that comes with a call, if there is one. */
export const schemaOf = ({ responseFormat }: LanguageModelV4CallOptions): unknown =>
  responseFormat?.type === 'json' ? responseFormat.schema : undefined;

/** The same call without a schema: the prompt states it too. */
export const withoutSchema = ({
  responseFormat: _format,
  ...call
}: LanguageModelV4CallOptions): LanguageModelV4CallOptions => call;

/**
 * Whether every object in the schema lists all of its keys, requires them and allows no others, and only the commonest keywords occur.
 * Vendors that enforce a schema refuse most others, and each a different set.
 */
export const isClosedSchema = (schema: unknown, depth = 0): boolean => {
  if (!isObject(schema) || depth > depthMax || Object.keys(schema).some((key) => !keywords.has(key))) return false;
  const { properties = {}, required = [], items, anyOf = [], enum: values } = schema;
  if (!isObject(properties) || !Array.isArray(required) || !Array.isArray(anyOf)) return false;
  const isClosed =
    schema['additionalProperties'] === false && Object.keys(properties).every((key) => required.includes(key));
  if (schema['type'] === 'object' ? !isClosed : Object.keys(properties).length > 0) return false;
  if (schema['type'] === undefined && values === undefined && anyOf.length === 0) return false;
  if (schema['type'] === 'array' && items === undefined) return false;
  const parts = [...Object.values(properties), ...(items === undefined ? [] : [items]), ...(anyOf as unknown[])];
  return parts.every((part) => isClosedSchema(part, depth + 1));
};

const depthMax = 5;

const keywords: ReadonlySet<string> = new Set(
  '$schema type properties required additionalProperties items anyOf enum title description'.split(' '),
);
