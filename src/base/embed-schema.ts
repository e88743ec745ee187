// Embeds one JSON Schema in another. References to its root must be rewritten, because the root is now another schema.
import { isObject, isSameJson } from './json.ts';
import type { Json, JsonObject } from './json.ts';

/** The schema rewritten for `place`, a JSON pointer into the outer schema; `prefix` keeps its anchors distinct from others. */
export const embedSchema = (schema: JsonObject, place: string, prefix: string): JsonObject => {
  const base = baseUri(schema);
  const rewriteRef = (ref: string): string => {
    const local = base !== null && (ref === base || ref.startsWith(`${base}#`)) ? ref.slice(base.length) || '#' : ref;
    if (local === '#' || local.startsWith('#/')) return `#${place}${local.slice(1)}`;
    return local.startsWith('#') ? `#${prefix}${local.slice(1)}` : local;
  };
  const change = (key: string, value: Json): Json => {
    if (typeof value !== 'string') return value;
    if (key === '$ref') return rewriteRef(value);
    if (key === '$anchor') return `${prefix}${value}`;
    // Drafts without `$anchor` use `$id: "#name"` as an anchor.
    return key === '$id' && value.startsWith('#') ? `#${prefix}${value.slice(1)}` : value;
  };
  const { $schema: _schema, $id, id: _id, ...rest } = rebuild(schema, change);
  return base === null && $id !== undefined ? { $id, ...rest } : rest;
};

/** A schema that a value fits if it fits both. */
export const bothSchemas = (one: JsonObject, other: JsonObject): JsonObject =>
  isSameJson(one, other)
    ? one
    : { allOf: [embedSchema(one, '/allOf/0', 'one.'), embedSchema(other, '/allOf/1', 'other.')] };

/** Whether some part of the schema refers to the whole schema. */
export const refersToRoot = (schema: JsonObject): boolean => {
  const base = baseUri(schema);
  const { $anchor } = schema;
  const roots: Json[] = ['#'];
  if (base !== null) roots.push(base, `${base}#`);
  if (typeof $anchor === 'string') roots.push(`#${$anchor}`);
  let found = false;
  rebuild(schema, (key, value) => {
    found ||= key === '$ref' && roots.includes(value);
    return value;
  });
  return found;
};

/** The base URI that a schema sets with `$id`: references inside it resolve against this URI. */
const baseUri = ({ $id, id }: JsonObject): string | null => {
  const address = $id ?? id;
  return typeof address === 'string' && !address.startsWith('#') ? address.replace(/#$/u, '') : null;
};

/** Keywords whose values are maps of schemas, lists of schemas, or plain values. An object under any other keyword is a schema. */
const mapKeywords = ['$defs', 'definitions', 'properties', 'patternProperties', 'dependentSchemas', 'dependencies'];
const listKeywords = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const valueKeywords = ['const', 'enum', 'default', 'examples', 'example', 'required', 'dependentRequired'];

type Change = (key: string, value: Json) => Json;

const rebuild = (schema: JsonObject, change: Change): JsonObject =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, value === undefined ? value : rebuildPart(key, value, change)]),
  );

const rebuildPart = (key: string, value: Json, change: Change): Json => {
  if (valueKeywords.includes(key)) return value;
  if (Array.isArray(value))
    return listKeywords.includes(key) ? value.map((part: Json) => rebuildSubschema(part, change)) : value;
  if (!isObject(value)) return change(key, value);
  if (!mapKeywords.includes(key)) return rebuildSubschema(value, change);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, part === undefined ? part : rebuildSubschema(part, change)]),
  );
};

/** A subschema with its own base URI is left unchanged: its references do not leave it. */
const rebuildSubschema = (part: Json, change: Change): Json =>
  isObject(part) && baseUri(part) === null ? rebuild(part, change) : part;
