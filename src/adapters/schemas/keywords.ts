// What the value of each JSON Schema keyword must look like, and where it contains other schemas. Unlisted keywords may
// have any value.
import { isObject } from '#base';
import { describeValue } from './check-run.ts';

/** Returns what is wrong with a keyword's value; null when it is valid. */
type Check = (value: unknown) => string | null;

/** Where a keyword's value contains schemas. */
type Nesting = 'schema' | 'list' | 'map' | 'schema-or-list' | 'map-or-names';

const typeNames = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const text: Check = (value) => (typeof value === 'string' ? null : `expected a string, got ${describeValue(value)}`);
const flag: Check = (value) =>
  typeof value === 'boolean' ? null : `expected true or false, got ${describeValue(value)}`;
const list: Check = (value) => (Array.isArray(value) ? null : `expected a list, got ${describeValue(value)}`);

const number: Check = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? null : `expected a number, got ${describeValue(value)}`;

const count: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 0 ? null : `expected a whole number ≥ 0, got ${describeValue(value)}`;

const step: Check = (value) =>
  number(value) ?? ((value as number) > 0 ? null : `expected a number > 0, got ${describeValue(value)}`);

const names: Check = (value) =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
    ? null
    : `expected a list of names, got ${describeValue(value)}`;

const type: Check = (value) => {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (types.length === 0) return 'expected at least one type, got an empty list';
  const wrong = types.filter((name) => !typeNames.includes(name as string));
  return wrong.length === 0 ? null : `${describeValue(wrong[0])} is not a type; the types are ${typeNames.join(', ')}`;
};

const namesByName: Check = (value) => {
  if (!isObject(value)) return `expected an object of name lists, got ${describeValue(value)}`;
  for (const one of Object.values(value)) if (names(one) !== null) return names(one);
  return null;
};

/** There are no dynamic scopes: these keywords would check nothing. */
const unsupported: Check = () => 'not supported; use `$ref`';

const entriesOf = <T>(value: T, ...keys: readonly string[]): readonly (readonly [string, T])[] =>
  keys.map((key) => [key, value] as const);

export const checks: ReadonlyMap<string, Check> = new Map([
  ...entriesOf(
    text,
    'format',
    'pattern',
    '$schema',
    '$id',
    '$ref',
    '$anchor',
    '$dynamicAnchor',
    '$comment',
    'title',
    'description',
  ),
  ...entriesOf(unsupported, '$recursiveRef', '$dynamicRef'),
  ...entriesOf(count, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'),
  ...entriesOf(count, 'minProperties', 'maxProperties'),
  ...entriesOf(number, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
  ...entriesOf(step, 'multipleOf'),
  ...entriesOf(flag, 'uniqueItems', '$recursiveAnchor'),
  ...entriesOf(list, 'enum'),
  ...entriesOf(names, 'required'),
  ...entriesOf(namesByName, 'dependentRequired'),
  ...entriesOf(type, 'type'),
]);

export const nestings: ReadonlyMap<string, Nesting> = new Map([
  ...entriesOf<Nesting>('schema', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'contentSchema'),
  ...entriesOf<Nesting>(
    'schema',
    'additionalProperties',
    'unevaluatedProperties',
    'additionalItems',
    'unevaluatedItems',
  ),
  ...entriesOf<Nesting>('list', 'allOf', 'anyOf', 'oneOf', 'prefixItems'),
  ...entriesOf<Nesting>('map', '$defs', 'definitions', 'properties', 'patternProperties', 'dependentSchemas'),
  ...entriesOf<Nesting>('schema-or-list', 'items'),
  ...entriesOf<Nesting>('map-or-names', 'dependencies'),
]);

/** Subschemas of these keywords apply to the same value as the schema itself. */
export const inPlace: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
]);
