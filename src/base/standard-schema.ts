// Schemas of other libraries, through the interface that they share (standardschema.dev). No library is named or loaded here.
//
//   schema-as-json. What is recorded, shown to models and checked is JSON Schema: the library's own, for its input.
import { CloisterError } from './errors/index.ts';
import { isObject } from './json.ts';
import type { JsonObject } from './json.ts';

/** The Standard Schema interface, version 1, with the converters of Standard JSON Schema. */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
  };
};

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

type SchemaIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

/** A schema as JSON Schema, and how its library parses a value; `parse` is null if it is JSON Schema only. */
type ReadSchema = {
  readonly json: JsonObject;
  readonly parse: ((value: unknown) => Promise<unknown>) | null;
  /** The same without waiting: throws for a library that parses asynchronously. */
  readonly parseNow: ((value: unknown) => unknown) | null;
};

/** Reads a schema that somebody wrote in code. Returns the reason if it cannot be used; null: it is no schema of a library. */
export const readLibrarySchema = (schema: unknown): ReadSchema | string | null => {
  if ((typeof schema !== 'object' || schema === null) && typeof schema !== 'function') return null;
  const standard = (schema as Partial<StandardSchema>)['~standard'];
  if (!isObject(standard) || typeof standard.validate !== 'function') return null;
  const json = isJsonSchema(schema) ? schema : convertSchema(standard);
  if (typeof json === 'string') return json;
  return {
    json: JSON.parse(JSON.stringify(json)) as JsonObject,
    parse: async (value) => parsedValue(await standard.validate(value)),
    parseNow: (value) => {
      const result = standard.validate(value);
      if (result instanceof Promise) {
        result.catch(() => undefined);
        throw new CloisterError('tool_arguments', 'The schema is checked asynchronously.');
      }
      return parsedValue(result);
    },
  };
};

/** JSON Schema that remembers which schema it was made from, such as that of `z.toJSONSchema`. It hides that from JSON. */
const isJsonSchema = (schema: object): schema is JsonObject =>
  Object.getPrototypeOf(schema) === Object.prototype && !Object.keys(schema).includes('~standard');

const convertSchema = (standard: StandardSchema['~standard']): JsonObject | string => {
  const { jsonSchema } = standard as { readonly jsonSchema?: { input?(options: { target: string }): unknown } };
  if (typeof jsonSchema?.input !== 'function')
    return `a schema of ${standard.vendor} that can be written as JSON Schema${standard.vendor === 'valibot' ? ': wrap it in toStandardJsonSchema() of @valibot/to-json-schema' : '; this version of the library cannot convert it'}`;
  try {
    const json = jsonSchema.input({ target: 'draft-2020-12' });
    return isObject(json) ? (json as JsonObject) : 'a schema that can be written as JSON Schema';
  } catch (error) {
    return `a schema that can be written as JSON Schema: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`;
  }
};

/** Throws `tool_arguments`, with the library's own words. */
const parsedValue = (result: Validated<unknown>): unknown => {
  if (result.issues === undefined) return result.value;
  throw new CloisterError('tool_arguments', `${result.issues.slice(0, 5).map(issueText).join('; ')}.`);
};

const issueText = ({ message, path = [] }: SchemaIssue): string => {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return `${keys.length === 0 ? '' : `${keys.join('.')}: `}${message.replace(/\.$/u, '')}`;
};
