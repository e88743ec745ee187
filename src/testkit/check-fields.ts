// Checks the fields of a value, and suggests what was probably meant.
import { nearestName } from '#base';

/** A position in a script: `lines[2].reply` is `['lines', 2, 'reply']`. */
export type ScriptPath = readonly (string | number)[];

export type ReportProblem = (path: ScriptPath, problem: string) => void;

/** Returns null for a valid value, otherwise what was expected. */
export type ExpectValue = (value: unknown) => string | null;

export type ExpectedFields = Readonly<Record<string, ExpectValue>>;

export const expectString: ExpectValue = (value) => (typeof value === 'string' ? null : 'a string (quote it in YAML)');
export const expectBoolean: ExpectValue = (value) => (typeof value === 'boolean' ? null : 'true or false');
export const expectAmount: ExpectValue = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? null : 'a number, 0 or more';
export const expectInteger: ExpectValue = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'a whole number, 0 or more';
export const expectCount: ExpectValue = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? null : 'a whole number, 1 or more';
export const expectList: ExpectValue = (value) => (Array.isArray(value) ? null : 'a list');
export const expectObject: ExpectValue = (value) => (isPlainObject(value) ? null : 'an object with fields');
/** The code that reads the value checks it. */
export const expectAnything: ExpectValue = () => null;

export const expectOneOf =
  (names: readonly string[]): ExpectValue =>
  (value) =>
    typeof value === 'string' && names.includes(value) ? null : `one of ${names.join(', ')}`;

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Reports unknown keys and invalid values. Returns true if the value is an object. */
export const checkExpectedFields = (
  value: unknown,
  path: ScriptPath,
  fields: ExpectedFields,
  note: ReportProblem,
): value is Readonly<Record<string, unknown>> => {
  if (!isPlainObject(value)) {
    note(path, `expected an object with any of ${Object.keys(fields).join(', ')}; got ${describeScriptValue(value)}.`);
    return false;
  }
  for (const [key, part] of Object.entries(value)) {
    const expect = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (expect === undefined) note([...path, key], unknownKey(key, Object.keys(fields)));
    else if (part !== undefined) checkValue(part, [...path, key], expect, note);
  }
  return true;
};

export const checkValue = (value: unknown, path: ScriptPath, expect: ExpectValue, note: ReportProblem): void => {
  const expected = expect(value);
  if (expected !== null) note(path, `expected ${expected}; got ${describeScriptValue(value)}.`);
};

export const describeScriptValue = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  if (value !== null && typeof value === 'object') return 'an object';
  return shortenForMessage(
    typeof value === 'string' ? JSON.stringify(value) : `${value as number | boolean | null}`,
    60,
  );
};

export const shortenForMessage = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`;

const unknownKey = (key: string, known: readonly string[]): string => {
  // In YAML, `reply: {{goal}}` is an object in an object.
  if (key.startsWith('{')) return 'a string that starts with {{ must be quoted.';
  const suggestion = nearestName(key, known);
  return `unknown key${suggestion === null ? '.' : `; did you mean "${suggestion}"?`} Known keys: ${known.join(', ')}.`;
};
