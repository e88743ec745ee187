// What each keyword of JSON Schema must look like, and where other schemas lie below it. Keywords that are not here
// may hold anything.
import { isObject } from '#base';
import { describeValue } from './values.ts';

/** Says what is wrong with a keyword's value; null when it is right. */
type Check = (value: unknown) => string | null;

/** Where schemas lie in a keyword's value. */
type Nesting = 'schema' | 'list' | 'map' | 'schema-or-list' | 'map-or-names';

const typeNames = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const text: Check = (value) => (typeof value === 'string' ? null : `expected text, got ${describeValue(value)}`);
const flag: Check = (value) =>
  typeof value === 'boolean' ? null : `expected true or false, got ${describeValue(value)}`;
const list: Check = (value) => (Array.isArray(value) ? null : `expected a list, got ${describeValue(value)}`);

const number: Check = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? null : `expected a number, got ${describeValue(value)}`;

const count: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 0
    ? null
    : `expected a whole number from 0, got ${describeValue(value)}`;

const step: Check = (value) =>
  number(value) ?? ((value as number) > 0 ? null : `expected a number above 0, got ${describeValue(value)}`);

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

/** As the validator reads it: patterns are Unicode ones. */
export const pattern: Check = (value) => {
  const wrong = text(value);
  if (wrong !== null) return wrong;
  try {
    new RegExp(value as string, 'u').test('');
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

/** The validator looks formats up in an object: unknown ones are free, but these it would find. */
const format: Check = (value) =>
  text(value) ?? (Object.hasOwn(Object.prototype, value as string) ? `${describeValue(value)} is not a format` : null);

const namesByName: Check = (value) => {
  if (!isObject(value)) return `expected names, each with a list of names, got ${describeValue(value)}`;
  for (const one of Object.values(value)) if (names(one) !== null) return names(one);
  return null;
};

/** The validator has no scopes for these: the first would go round for ever, the second checks nothing. */
const unsupported: Check = () => 'it is not supported; say `$ref`';

const of = <T>(value: T, ...keys: readonly string[]): readonly (readonly [string, T])[] =>
  keys.map((key) => [key, value] as const);

export const checks: ReadonlyMap<string, Check> = new Map([
  ...of(text, '$schema', '$id', '$ref', '$anchor', '$dynamicAnchor', '$comment', 'title', 'description'),
  ...of(format, 'format'),
  ...of(unsupported, '$recursiveRef', '$dynamicRef'),
  ...of(count, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'),
  ...of(count, 'minProperties', 'maxProperties'),
  ...of(number, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
  ...of(step, 'multipleOf'),
  ...of(flag, 'uniqueItems', '$recursiveAnchor'),
  ...of(list, 'enum'),
  ...of(names, 'required'),
  ...of(namesByName, 'dependentRequired'),
  ...of(type, 'type'),
  ...of(pattern, 'pattern'),
]);

export const nestings: ReadonlyMap<string, Nesting> = new Map([
  ...of<Nesting>('schema', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'contentSchema'),
  ...of<Nesting>('schema', 'additionalProperties', 'unevaluatedProperties', 'additionalItems', 'unevaluatedItems'),
  ...of<Nesting>('list', 'allOf', 'anyOf', 'oneOf', 'prefixItems'),
  ...of<Nesting>('map', '$defs', 'definitions', 'properties', 'patternProperties', 'dependentSchemas'),
  ...of<Nesting>('schema-or-list', 'items'),
  ...of<Nesting>('map-or-names', 'dependencies'),
]);

/** What is below these is about the same value as the schema itself. */
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
