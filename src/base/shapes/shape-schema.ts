// A shape as JSON Schema, for editors, for documents and for the check that both say the same.
import type { Json, JsonObject } from '#base';
import { isOfType } from './fits-leaf.ts';
import type { ListForm, MapForm, ObjectForm, Shape, ShapeNotes } from './shape.ts';

/** `reference`: where the schema of a named shape stands. Without it, every schema stands where it is used. */
export const jsonSchemaOf = (shape: Shape, reference?: (name: string) => string): JsonObject =>
  shape.name !== undefined && reference !== undefined
    ? { $ref: reference(shape.name) }
    : { ...notesOf(shape), ...formSchema(shape, reference) };

/** The schemas of the named shapes that these use, with those that they use in turn. */
export const namedSchemas = (shapes: readonly Shape[], reference: (name: string) => string): JsonObject => {
  const found: Record<string, JsonObject> = {};
  const visit = (shape: Shape): void => {
    const { name, ...unnamed } = shape;
    if (name !== undefined) {
      if (Object.hasOwn(found, name)) return;
      found[name] = jsonSchemaOf(unnamed, reference);
    }
    for (const part of partsOf(shape)) visit(part);
  };
  for (const shape of shapes) visit(shape);
  return found;
};

const partsOf = (shape: Shape): readonly Shape[] => {
  switch (shape.is) {
    case 'list':
    case 'map':
      return [shape.of];
    case 'either':
      return shape.of;
    case 'object':
      return Object.values(shape.fields);
    default:
      return [];
  }
};

const notesOf = ({ about, otherwise, default: value, example }: ShapeNotes): JsonObject => ({
  ...(about === undefined
    ? {}
    : { description: `${about}${otherwise === undefined ? '' : ` Default: ${otherwise}.`}` }),
  ...(value === undefined ? {} : { default: value }),
  ...(example === undefined ? {} : { examples: [example] }),
});

const withRules = (schema: JsonObject, { rules = [] }: ShapeNotes): JsonObject => {
  const said = rules.flatMap(({ schema: one }) => (one === undefined ? [] : [one]));
  const [only] = said;
  if (only === undefined) return schema;
  const isApart = said.length === 1 && Object.keys(only).every((key) => !Object.hasOwn(schema, key));
  return isApart ? { ...schema, ...only } : { ...schema, allOf: said };
};

type Reference = Parameters<typeof jsonSchemaOf>[1];

/** What an object's rules say is about the object, not about its short form. */
const formSchema = (shape: Shape, reference: Reference): JsonObject =>
  shape.is === 'object' ? objectSchema(shape, reference) : withRules(plainSchema(shape, reference), shape);

const plainSchema = (shape: Exclude<Shape, { is: 'object' }>, reference: Reference): JsonObject => {
  switch (shape.is) {
    case 'text':
      return { type: 'string', ...patternSchema(shape) };
    case 'number':
      return {
        type: shape.whole ? 'integer' : 'number',
        ...(Number.isFinite(shape.min) ? { minimum: shape.min } : {}),
        ...(Number.isFinite(shape.max) ? { maximum: shape.max } : {}),
      };
    case 'flag':
      return { type: 'boolean' };
    case 'choice':
      return shape.of.length === 1 && shape.of[0] === null ? { type: 'null' } : { enum: shape.of };
    case 'json':
    case 'value':
      return {};
    case 'list': {
      const items = jsonSchemaOf(shape.of, reference);
      const list = { type: 'array', items, ...(shape.min === 0 ? {} : { minItems: shape.min }) };
      if (shape.single !== true) return list;
      return { anyOf: [items, { ...list, uniqueItems: true }, ...commaSchema(shape.of), ...nullSchema(shape)] };
    }
    case 'map':
      return mapSchema(shape, reference);
    case 'either':
      return eitherSchema(shape.of.map((one) => jsonSchemaOf(one, reference)));
  }
};

/** A list that is written as one text with commas. */
const commaSchema = (of: Shape): readonly JsonObject[] => (isOfType(of, ',') ? [{ type: 'string', pattern: ',' }] : []);

const nullSchema = ({ mayBeEmpty }: ListForm): readonly JsonObject[] => (mayBeEmpty === true ? [{ type: 'null' }] : []);

/** A value of one type, or null, is said in short. */
const eitherSchema = (schemas: readonly JsonObject[]): JsonObject => {
  const [one, other, more] = schemas;
  const type = one?.['type'];
  const isShort = typeof type === 'string' && other?.['type'] === 'null' && more === undefined;
  return isShort ? { ...one, type: [type, 'null'] } : { anyOf: schemas };
};

/** Without look-ahead, which not every validator has. */
const patternSchema = ({ pattern, never }: { readonly pattern?: string; readonly never?: string }): JsonObject => ({
  ...(pattern === undefined ? {} : { pattern }),
  ...(never === undefined ? {} : { not: { pattern: never } }),
});

const mapSchema = ({ names, of }: MapForm, reference: Reference): JsonObject => ({
  type: 'object',
  ...(names?.is === 'text' ? { propertyNames: patternSchema(names) } : {}),
  ...(of.is === 'json' ? {} : { additionalProperties: jsonSchemaOf(of, reference) }),
});

const objectSchema = (shape: ObjectForm & ShapeNotes, reference: Reference): JsonObject => {
  const entries = Object.entries(shape.fields).map(([key, field]): readonly [string, Json] => [
    key,
    jsonSchemaOf(field, reference),
  ]);
  const plain: JsonObject = {
    type: shape.mayBeEmpty === true ? ['object', 'null'] : 'object',
    ...(shape.required.length === 0 ? {} : { required: shape.required }),
    properties: Object.fromEntries(entries),
    ...(shape.open === true ? {} : { additionalProperties: false }),
  };
  const whole = withRules(plain, shape);
  if (shape.short === undefined) return whole;
  const { about: _about, example: _example, default: _default, ...short } = shape.fields[shape.short]!;
  return { anyOf: [jsonSchemaOf(short, reference), whole] };
};
