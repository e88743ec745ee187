// A schema as a part of another one: what refers to its root would mean the other's root there.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

/** The same schema for `place`, a JSON pointer into the whole; `prefix` keeps its anchors apart from others'. */
export const embedSchema = (schema: JsonObject, place: string, prefix: string): JsonObject => {
  const runtime = homeOf(schema);
  const moved = (ref: string): string => {
    const local =
      runtime !== null && (ref === runtime || ref.startsWith(`${runtime}#`)) ? ref.slice(runtime.length) || '#' : ref;
    if (local === '#' || local.startsWith('#/')) return `#${place}${local.slice(1)}`;
    return local.startsWith('#') ? `#${prefix}${local.slice(1)}` : local;
  };
  const change = (key: string, value: Json): Json => {
    if (typeof value !== 'string') return value;
    if (key === '$ref') return moved(value);
    if (key === '$anchor') return `${prefix}${value}`;
    // So drafts before `$anchor` name a place.
    return key === '$id' && value.startsWith('#') ? `#${prefix}${value.slice(1)}` : value;
  };
  const { $schema: _schema, $id, id: _id, ...rest } = rebuild(schema, change);
  return runtime === null && $id !== undefined ? { $id, ...rest } : rest;
};

/** Whether some part of it stands for the whole again. */
export const refersToRoot = (schema: JsonObject): boolean => {
  const runtime = homeOf(schema);
  const { $anchor } = schema;
  const roots: Json[] = ['#'];
  if (runtime !== null) roots.push(runtime, `${runtime}#`);
  if (typeof $anchor === 'string') roots.push(`#${$anchor}`);
  let found = false;
  rebuild(schema, (key, value) => {
    found ||= key === '$ref' && roots.includes(value);
    return value;
  });
  return found;
};

/** The address that a schema gives itself: what is below it refers to it and no further. */
const homeOf = ({ $id, id }: JsonObject): string | null => {
  const address = $id ?? id;
  return typeof address === 'string' && !address.startsWith('#') ? address.replace(/#$/u, '') : null;
};

/** Keywords that hold schemas by name, lists of schemas, and plain values; any other that holds an object holds a schema. */
const byName = ['$defs', 'definitions', 'properties', 'patternProperties', 'dependentSchemas', 'dependencies'];
const inList = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const plain = ['const', 'enum', 'default', 'examples', 'example', 'required', 'dependentRequired'];

type Change = (key: string, value: Json) => Json;

const rebuild = (schema: JsonObject, change: Change): JsonObject =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, value === undefined ? value : rebuildPart(key, value, change)]),
  );

const rebuildPart = (key: string, value: Json, change: Change): Json => {
  if (plain.includes(key)) return value;
  if (Array.isArray(value)) return inList.includes(key) ? value.map((part: Json) => sub(part, change)) : value;
  if (!isObject(value)) return change(key, value);
  if (!byName.includes(key)) return sub(value, change);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, part === undefined ? part : sub(part, change)]),
  );
};

/** A part with an address of its own is whole in itself. */
const sub = (part: Json, change: Change): Json =>
  isObject(part) && homeOf(part) === null ? rebuild(part, change) : part;
