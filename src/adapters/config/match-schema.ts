// Matches a value against a schema and reports mismatches in our own texts: what was expected, never what was there.
import { nearestName } from '#base';
import { z } from 'zod';

export type ReportMismatch = (path: readonly PropertyKey[], message: string, nearest?: string | null) => undefined;

export const matchSchema = <T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: readonly string[],
  report: ReportMismatch,
): T | undefined => {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const at = [...path, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      const known = keysAt(schema, issue.path);
      for (const key of issue.keys)
        report([...at, key], `Unknown key; expected ${known.join(', ')}.`, nearestName(key, known));
    } else
      report(at, describeIssue(issue, valueAt(value, issue.path)), nearestOption(issue, valueAt(value, issue.path)));
  }
  return undefined;
};

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const describeIssue = (issue: z.core.$ZodIssue, given: unknown): string => {
  const missing = given === undefined ? 'Missing; expected' : 'Expected';
  switch (issue.code) {
    case 'invalid_type':
      return `${missing} ${typeNames[issue.expected] ?? issue.expected}.`;
    case 'invalid_value':
      return `${missing} ${issue.values.map(String).join(' or ')}.`;
    case 'too_small':
      if (issue.origin === 'string') return 'Must not be empty.';
      return `Expected ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}.`;
    case 'too_big':
      return `Expected at most ${issue.maximum}.`;
    case 'invalid_key':
      return capitalise(issue.issues[0]?.message ?? 'invalid key.');
    default:
      return capitalise(issue.message);
  }
};

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const nearestOption = (issue: z.core.$ZodIssue, given: unknown): string | null =>
  issue.code === 'invalid_value' && typeof given === 'string' ? nearestName(given, issue.values.map(String)) : null;

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((one, key) => (one as Record<PropertyKey, unknown> | undefined)?.[key], value);

/** The keys of the object schema at a path. */
const keysAt = (schema: z.ZodType, path: readonly PropertyKey[]): string[] => {
  let here: unknown = schema;
  for (const key of path) here = childSchema(unwrapOptional(here), key);
  const object = unwrapOptional(here);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
};

const childSchema = (schema: unknown, key: PropertyKey): unknown => {
  if (schema instanceof z.ZodObject) return (schema.shape as Record<PropertyKey, unknown>)[key];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
};

const unwrapOptional = (schema: unknown): unknown => (schema instanceof z.ZodOptional ? schema.unwrap() : schema);
