// A shape describes a value once, as data. Reading it, its problems, its JSON Schema and its type follow from the description.
//
//   shape-equals-schema. `readShape` accepts what the schema of `jsonSchemaOf` accepts. Only a rule without a schema, the
//       parts of a list that is written as text, and a value that exists in code only are more than a schema can say.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

/** `~type` is never set: it carries the type. A symbol could not be named in declarations. */
export type Shape<T = unknown> = ShapeForm & ShapeNotes & { readonly '~type'?: T };

/** The type of the values that a shape accepts, after they were read. */
export type Of<S> = S extends { readonly '~type'?: infer T } ? Exclude<T, undefined> : never;

export type ShapeForm =
  /** `never`: a pattern that must not occur in the text. */
  | { readonly is: 'text'; readonly pattern?: string; readonly never?: string }
  /** `cap`: code may write Infinity for no limit. */
  | { readonly is: 'number'; readonly whole: boolean; readonly min: number; readonly max: number; readonly cap?: true }
  | { readonly is: 'flag' }
  | { readonly is: 'choice'; readonly of: readonly (string | null)[] }
  | { readonly is: 'json' }
  /** A value that exists in code only, such as a function. */
  | { readonly is: 'value'; fits(value: unknown): boolean }
  | ListForm
  | MapForm
  | ObjectForm
  | { readonly is: 'either'; readonly of: readonly Shape[] };

/**
 * `single`: one item may be written without a list, and texts as one text with commas. Such lists are written by people, and
 * an item counts once. `mayBeEmpty`: null is the empty list.
 */
export type ListForm = {
  readonly is: 'list';
  readonly of: Shape;
  readonly min: number;
  readonly single?: true;
  readonly mayBeEmpty?: true;
};

export type MapForm = { readonly is: 'map'; readonly names?: Shape; readonly of: Shape };

export type ObjectForm = {
  readonly is: 'object';
  readonly fields: ShapeFields;
  readonly required: readonly string[];
  /** Other keys are allowed, and left out of what is read. */
  readonly open?: true;
  /** The key whose value may be written in place of the whole object. */
  readonly short?: string;
  /** The object may be null or empty, which is the same as leaving it out. */
  readonly mayBeEmpty?: true;
};

export type ShapeFields = Readonly<Record<string, Shape>>;

export type ShapeNotes = {
  /** What a problem says was expected. */
  readonly expected?: string | ((value: unknown) => string);
  /** What to say of a wrong value instead of what was expected, as a sentence. */
  readonly hint?: (value: unknown) => string | null;
  /** One sentence. */
  readonly about?: string;
  /** As people write it. */
  readonly example?: Json;
  readonly default?: Json;
  /** The default in words, if no single value describes it. */
  readonly otherwise?: string;
  /** The section of the template that shows the key. */
  readonly group?: string;
  /** Where the value is stored in the object that was read. Default: under its own key. */
  readonly into?: readonly string[];
  readonly aliasOf?: string;
  readonly rules?: readonly ShapeRule[];
  /** Converts what was written into what is stored; undefined: it cannot be. */
  readonly convert?: { to(value: never): unknown; readonly stored: Shape };
  /** The value is a JSON Schema: `ShapeReader.checkSchema` says whether it can be used. */
  readonly isSchema?: true;
  /** Its name among the schemas of a document, which then refers to it by name. */
  readonly name?: string;
};

/** More than the form says. `schema`: the same as JSON Schema, if that can say it. */
type ShapeRule = {
  /** `given`: as written. */
  find(read: never, given: never): RuleBreach | null;
  readonly schema?: JsonObject;
};

/** `at`: relative to the value of the rule. */
export type RuleBreach = { readonly at?: readonly (string | number)[]; readonly text: string };

type RequiredOf<R extends ShapeFields> = { readonly [K in keyof R]: Of<R[K]> };
type ObjectOf<R extends ShapeFields, O extends ShapeFields> = Simplify<
  RequiredOf<R> & { readonly [K in keyof O]?: Of<O[K]> }
>;
type Simplify<T> = { [K in keyof T]: T[K] };

export const string = (): Shape<string> => ({ is: 'text', expected: 'a string' });

export const pattern = (source: string, expected: string, never?: string): Shape<string> => ({
  is: 'text',
  pattern: source,
  ...(never === undefined ? {} : { never }),
  expected,
});

export const boolean = (expected = 'true or false'): Shape<boolean> => ({ is: 'flag', expected });

export const amount = (min = 0, max = Number.MAX_SAFE_INTEGER): Shape<number> => numberShape(false, min, max);
export const whole = (min = 0, max = Number.MAX_SAFE_INTEGER): Shape<number> => numberShape(true, min, max);

const numberShape = (isWhole: boolean, min: number, max: number): Shape<number> => ({
  is: 'number',
  whole: isWhole,
  min,
  max,
  expected: numberExpected(isWhole, min, max),
});

const numberExpected = (isWhole: boolean, min: number, max: number): string => {
  const what = isWhole ? 'a whole number' : 'a number';
  if (max < Number.MAX_SAFE_INTEGER) return `${what} from ${min} to ${max}`;
  return min <= -Number.MAX_SAFE_INTEGER ? what : `${what}, ${min} or more`;
};

/** For a limit: in code, Infinity means that there is none. */
export const cap = (shape: Shape<number>): Shape<number> => ({ ...shape, cap: true }) as Shape<number>;

export const oneOf = <const T extends string | null>(...of: readonly T[]): Shape<T> => ({
  is: 'choice',
  of,
  expected: joinWithOr(of.map(String)),
});

/** Any JSON value. */
export const json = (): Shape<Json> => ({ is: 'json', expected: 'a JSON value' });

/** Any JSON object. */
export const jsonObject = (expected = 'a JSON object'): Shape<JsonObject> => ({
  is: 'map',
  of: { is: 'json' },
  expected,
});

export const valueOf = <T>(expected: string, fits: (value: unknown) => boolean): Shape<T> => ({
  is: 'value',
  fits,
  expected,
});

export const listOf = <T>(of: Shape<T>, min = 0): Shape<readonly T[]> => ({ is: 'list', of, min, expected: 'a list' });

/** A list in which one item may stand for the whole. */
export const oneOrMore = <T>(of: Shape<T>, min = 0): Shape<readonly T[]> => ({ is: 'list', of, min, single: true });

export const mapOf = <T>(of: Shape<T>, names?: Shape): Shape<Readonly<Record<string, T>>> => ({
  is: 'map',
  of,
  ...(names === undefined ? {} : { names }),
  expected: 'an object',
});

/** An object without other keys. */
export function object<const R extends ShapeFields>(required: R): Shape<RequiredOf<R>>;
export function object<const R extends ShapeFields, const O extends ShapeFields>(
  required: R,
  optional: O,
): Shape<ObjectOf<R, O>>;
export function object(required: ShapeFields, optional: ShapeFields = {}): Shape {
  return {
    is: 'object',
    // The required keys come first, and are described as such even if the others describe them too.
    fields: { ...required, ...optional, ...required },
    required: Object.keys(required),
    expected: 'an object',
  };
}

/** Other keys are allowed: for values that others send, and for those that only a document describes. */
export function openObject<const R extends ShapeFields>(required: R): Shape<RequiredOf<R>>;
export function openObject<const R extends ShapeFields, const O extends ShapeFields>(
  required: R,
  optional: O,
): Shape<ObjectOf<R, O>>;
export function openObject(required: ShapeFields, optional: ShapeFields = {}): Shape {
  return { ...object(required, optional), open: true } as Shape;
}

/** The value of this key may be written in place of the whole object. */
export const withShort = <T>(shape: Shape<T>, short: string): Shape<T> => ({ ...shape, short }) as Shape<T>;

/** The object may be null or empty, which is the same as leaving it out. A list may be null, which is the empty list. */
export const orEmpty = <T>(shape: Shape<T>): Shape<T> => ({ ...shape, mayBeEmpty: true }) as Shape<T>;

export const either = <const S extends readonly Shape[]>(expected: string, ...of: S): Shape<Of<S[number]>> => ({
  is: 'either',
  of,
  expected,
});

export const orNull = <T>(of: Shape<T>): Shape<T | null> => ({
  is: 'either',
  of: [of, oneOf(null)],
  expected: `${expectedText(of, undefined)} or null`,
});

export const about = <S extends Shape>(shape: S, words: string, notes: ShapeNotes = {}): S => ({
  ...shape,
  about: words,
  ...notes,
});

export const named = <S extends Shape>(name: string, shape: S): S => ({ ...shape, name });

/** Adds rules to those that it has. */
export const withRules = <S extends Shape>(shape: S, ...rules: readonly ShapeRule[]): S => ({
  ...shape,
  rules: [...(shape.rules ?? []), ...rules],
});

/** At least one of these keys is written. */
export const withSomeOf = <T>(shape: Shape<T>, ...keys: readonly string[]): Shape<T> => {
  const sentence = `Expected at least one of ${joinWithOr(keys.map((key) => `\`${key}\``))}.`;
  return withRules(shape, {
    find: (_read: never, given: unknown) =>
      !isObject(given) || keys.some((key) => Object.hasOwn(given, key)) ? null : { text: sentence },
    schema: { anyOf: keys.map((key) => ({ required: [key] })) },
  });
};

/** The shape of what is stored: without aliases and short forms, with converted values. It is what code writes. */
export const storedShape = (shape: Shape): Shape => {
  if (shape.convert !== undefined) return withNotesOf(shape, shape.convert.stored);
  switch (shape.is) {
    case 'list':
      return withNotesOf(shape, listOf(storedShape(shape.of)));
    case 'map':
      return { ...shape, of: storedShape(shape.of), expected: shape.isSchema === true ? 'a JSON Schema' : 'an object' };
    case 'either':
      return { ...shape, of: shape.of.map(storedShape) };
    case 'object': {
      const fields = Object.entries(shape.fields).flatMap(([key, field]): readonly [string, Shape][] => {
        const { into = [key], ...rest } = field;
        return field.aliasOf !== undefined || into.length !== 1 ? [] : [[into[0]!, storedShape(rest)]];
      });
      const { short: _short, mayBeEmpty: _mayBeEmpty, ...rest } = shape;
      const required = shape.required.map((key) => shape.fields[key]?.into?.[0] ?? key);
      return { ...rest, fields: Object.fromEntries(fields), required, expected: 'an object' };
    }
    default:
      return shape;
  }
};

const withNotesOf = ({ about: words }: ShapeNotes, shape: Shape): Shape =>
  words === undefined ? shape : { ...shape, about: words };

export const expectedText = ({ expected = 'a value' }: ShapeNotes, value: unknown): string =>
  typeof expected === 'string' ? expected : expected(value);

/** `a`, `b` or `c`. */
export const joinWithOr = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
