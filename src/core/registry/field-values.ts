// One value of the frontmatter, read by its kind. What does not fit is described, never thrown.
import { nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import { durationExpected, parseDuration } from './duration.ts';
import { numberProblem } from './field-kinds.ts';
import type { BlockKind, PlainOrBlock, Kind } from './field-kinds.ts';

export type FieldPath = readonly (string | number)[];

export type ReportFieldProblem = (path: FieldPath, message: string, meant?: () => string | null) => void;

export type ValueReader = {
  readonly report: ReportFieldProblem;
  /** Why a JSON Schema is none; null when it is one. */
  checkSchema?(schema: JsonObject): string | null;
};

/** Kinds that are read without looking further into the table. */
export type PlainKind = Exclude<Kind, BlockKind | PlainOrBlock | { is: 'list' | 'map' }>;

const parallelDefault = 4;
const wordCharsMax = 400;

/** The value in its one checked form; undefined when it was reported. */
export const readPlain = (kind: PlainKind, value: Json | undefined, path: FieldPath, reader: ValueReader): unknown => {
  const wrong = (expected: string, meant?: () => string | null): undefined => {
    reader.report(path, `Expected ${expected}; got ${quoteFieldValue(value)}.`, meant);
  };
  switch (kind.is) {
    case 'text':
      return typeof value === 'string' && /\S/u.test(value) ? value : wrong(textExpected(value));
    case 'word':
      return readWord(kind, value, path, reader);
    case 'choice':
      if (typeof value === 'string' && kind.of.includes(value)) return value;
      return wrong(either(kind.of), () => (typeof value === 'string' ? nearestName(value, kind.of) : null));
    case 'number': {
      const expected = numberProblem(value, kind.rule);
      return expected === null ? value : wrong(expected);
    }
    case 'duration':
      return parseDuration(value) ?? wrong(durationExpected);
    case 'parallel':
      if (typeof value === 'boolean') return value ? parallelDefault : 1;
      return numberProblem(value, { min: 1, whole: true }) === null
        ? value
        : wrong('true, false, or a whole number, 1 or more');
    case 'flag':
      return typeof value === 'boolean' ? value : wrong(kind.expected);
    case 'schema':
      return readSchema(kind, value, path, reader);
  }
};

const textExpected = (value: Json | undefined): string =>
  typeof value === 'number' || typeof value === 'boolean' ? 'text (put it in quotes)' : 'text';

const readWord = (
  kind: Extract<Kind, { is: 'word' }>,
  value: Json | undefined,
  path: FieldPath,
  { report }: ValueReader,
): string | undefined => {
  if (typeof value === 'string' && value.length <= wordCharsMax && regexOf(kind.shape).test(value)) return value;
  const foreign = kind.operators === true && typeof value === 'string' ? foreignTo(value) : null;
  // What looks like a secret is not repeated.
  report(
    path,
    foreign === null
      ? `Expected ${kind.expected}; got ${quoteFieldValue(value)}.`
      : `Expected ${kind.expected}, but this looks like ${foreign}: those are defined in the operator's .ai-agent.json, and agent files only refer to them.`,
  );
  return undefined;
};

/** What belongs to the operator, by its look. */
const foreignTo = (value: string): string | null => {
  if (value.includes('://')) return 'a URL';
  if (value.includes('${') || /^[A-Za-z_][A-Za-z0-9_]{0,80}=/u.test(value)) return 'an environment value';
  return /\s/u.test(value.trim()) ? 'a command' : null;
};

const readSchema = (
  { ofObject }: Extract<Kind, { is: 'schema' }>,
  value: Json | undefined,
  path: FieldPath,
  reader: ValueReader,
): JsonObject | undefined => {
  const type = isMapping(value) ? value['type'] : undefined;
  if (!isMapping(value) || (ofObject && type !== undefined && type !== 'object')) {
    reader.report(
      path,
      ofObject
        ? 'Expected a JSON Schema of an object (`type: object`): callers send an object.'
        : `Expected a JSON Schema, as a block of keys; got ${quoteFieldValue(value)}.`,
    );
    return undefined;
  }
  const why = reader.checkSchema?.(value) ?? null;
  if (why !== null) reader.report(path, `This is not a JSON Schema: ${why}`);
  return why === null ? value : undefined;
};

export const isMapping = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `a`, `b` or `c`. */
export const either = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

/** A value as a message shows it: short. */
export const quoteFieldValue = (value: Json | undefined): string => {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a block of keys';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
};

const regexes = new Map<string, RegExp>();

export const regexOf = (shape: string): RegExp => {
  let regex = regexes.get(shape);
  if (regex === undefined) regexes.set(shape, (regex = new RegExp(shape, 'u')));
  return regex;
};
