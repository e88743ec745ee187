// Says what is wrong with a value that should have certain fields, and what was probably meant.
import { nearestName } from '#base';

/** Where in a script: `lines[2].reply` is `['lines', 2, 'reply']`. */
export type ScriptPath = readonly (string | number)[];

export type NoteProblem = (path: ScriptPath, problem: string) => void;

/** Null when the value is as it should be, otherwise what was expected. */
export type Expect = (value: unknown) => string | null;

export type ExpectedFields = Readonly<Record<string, Expect>>;

export const expectText: Expect = (value) => (typeof value === 'string' ? null : 'a text (quote it in YAML)');
export const expectFlag: Expect = (value) => (typeof value === 'boolean' ? null : 'true or false');
export const expectAmount: Expect = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? null : 'a number, 0 or more';
export const expectWhole: Expect = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'a whole number, 0 or more';
export const expectCount: Expect = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? null : 'a whole number, 1 or more';
export const expectList: Expect = (value) => (Array.isArray(value) ? null : 'a list');
export const expectFields: Expect = (value) => (isFields(value) ? null : 'an object with fields');
/** Checked where it is read. */
export const expectAnything: Expect = () => null;

export const expectOneOf =
  (words: readonly string[]): Expect =>
  (value) =>
    typeof value === 'string' && words.includes(value) ? null : `one of ${words.join(', ')}`;

export const isFields = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Notes unknown keys and values of the wrong kind. True when the value is an object at all. */
export const checkExpectedFields = (
  value: unknown,
  path: ScriptPath,
  fields: ExpectedFields,
  note: NoteProblem,
): value is Readonly<Record<string, unknown>> => {
  if (!isFields(value)) {
    note(path, `expected an object with some of ${Object.keys(fields).join(', ')}; got ${describe(value)}.`);
    return false;
  }
  for (const [key, part] of Object.entries(value)) {
    const expect = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (expect === undefined) note([...path, key], unknownKey(key, Object.keys(fields)));
    else if (part !== undefined) checkValue(part, [...path, key], expect, note);
  }
  return true;
};

export const checkValue = (value: unknown, path: ScriptPath, expect: Expect, note: NoteProblem): void => {
  const expected = expect(value);
  if (expected !== null) note(path, `expected ${expected}; got ${describe(value)}.`);
};

export const describe = (value: unknown): string => {
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
  if (key.startsWith('{')) return 'a text that begins with {{ must be quoted.';
  const meant = nearestName(key, known);
  return `unknown key${meant === null ? '.' : `; did you mean "${meant}"?`} Known keys: ${known.join(', ')}.`;
};
