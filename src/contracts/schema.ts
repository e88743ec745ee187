// What a schema may be in code, and the types that follow from it.
import type { Json, JsonObject, StandardSchema } from '#base';

/** A schema in code: JSON Schema, or a schema of zod, valibot, arktype or any other library with the Standard Schema interface. */
export type Schema = JsonSchema | StandardSchema;

/** JSON Schema (draft 2020-12), written as an object. Written as a literal, it gives types too. */
export type JsonSchema = { readonly [key: string]: unknown };

/** The JSON that fits a schema: what a model or a caller writes, and what is recorded. Unknown if nothing is known of the schema. */
export type InputOf<S> = Schema extends S
  ? unknown
  : S extends StandardSchema
    ? NonNullable<S['~standard']['types']>['input']
    : JsonOf<S>;

/** What the schema's own library makes of that JSON, with its defaults and transforms. For JSON Schema: the JSON itself. */
export type ParsedOf<S> = S extends StandardSchema ? NonNullable<S['~standard']['types']>['output'] : JsonOf<S>;

/** The same for the arguments of a tool, which are always an object. */
export type ArgsOf<S> = S extends StandardSchema ? ParsedOf<S> : Json extends JsonOf<S> ? JsonObject : JsonOf<S>;

type JsonOf<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: infer T }
      ? JsonOfType<T, S>
      : S extends { readonly anyOf: readonly (infer One)[] } | { readonly oneOf: readonly (infer One)[] }
        ? JsonOf<One>
        : Json;

type JsonOfType<T, S> = T extends readonly (infer One)[]
  ? JsonOfType<One, S>
  : T extends 'object'
    ? ObjectOfSchema<S>
    : T extends 'array'
      ? S extends { readonly items: infer Item }
        ? readonly JsonOf<Item>[]
        : readonly Json[]
      : T extends keyof PlainTypes
        ? PlainTypes[T]
        : Json;

type PlainTypes = {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
};

type ObjectOfSchema<S> = S extends { readonly properties: infer P }
  ? {
      readonly [K in keyof P as K extends RequiredKeys<S> ? K : never]: JsonOf<P[K]>;
    } & { readonly [K in keyof P as K extends RequiredKeys<S> ? never : K]?: JsonOf<P[K]> } extends infer Both
    ? { readonly [K in keyof Both]: Both[K] }
    : never
  : JsonObject;

type RequiredKeys<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;
