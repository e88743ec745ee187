// Parses one frontmatter value by its kind. Problems are reported, never thrown.
import { nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import { joinWithOr } from '#base/shapes';
import { durationExpected, parseDuration } from './duration.ts';
import { numberProblem } from './field-kinds.ts';
import type { BlockKind, PlainOrBlock, FieldKind, NameShape } from './field-kinds.ts';

export type FieldPath = readonly (string | number)[];

export type ReportFieldProblem = (path: FieldPath, message: string, suggest?: () => string | null) => void;

export type ValueReader = {
  readonly report: ReportFieldProblem;
  /** Why a value is not a valid JSON Schema; null if it is one. */
  checkSchema?(schema: JsonObject): string | null;
};

/** Kinds without nested fields. */
export type PlainKind = Exclude<FieldKind, BlockKind | PlainOrBlock | { is: 'list' | 'map' }>;

const parallelDefault = 4;
const wordCharsMax = 400;

/** The parsed value; undefined if a problem was reported. */
export const readPlain = (kind: PlainKind, value: Json | undefined, path: FieldPath, reader: ValueReader): unknown => {
  const reject = (expected: string, suggest?: () => string | null): undefined => {
    reader.report(path, `Expected ${expected}; got ${quoteFieldValue(value)}.`, suggest);
  };
  switch (kind.is) {
    case 'text':
      return typeof value === 'string' && /\S/u.test(value) ? value : reject(textExpected(value));
    case 'word':
      return readWord(kind, value, path, reader);
    case 'choice':
      if (typeof value === 'string' && kind.of.includes(value)) return value;
      return reject(joinWithOr(kind.of), () => (typeof value === 'string' ? nearestName(value, kind.of) : null));
    case 'number': {
      const expected = numberProblem(value, kind.rule);
      return expected === null ? value : reject(expected);
    }
    case 'duration':
      return parseDuration(value) ?? reject(durationExpected);
    case 'parallel':
      if (typeof value === 'boolean') return value ? parallelDefault : 1;
      return numberProblem(value, { min: 1, whole: true }) === null
        ? value
        : reject('true, false, or a whole number, 1 or more');
    case 'flag':
      return typeof value === 'boolean' ? value : reject(kind.expected);
    case 'schema':
      return readSchema(kind, value, path, reader);
  }
};

const textExpected = (value: Json | undefined): string =>
  typeof value === 'number' || typeof value === 'boolean' ? 'text (put it in quotes)' : 'text';

const readWord = (
  kind: Extract<FieldKind, { is: 'word' }>,
  value: Json | undefined,
  path: FieldPath,
  { report }: ValueReader,
): string | undefined => {
  if (typeof value === 'string' && value.length <= wordCharsMax && hasShape(value, kind)) return value;
  const operatorValue = kind.operators === true && typeof value === 'string' ? describeOperatorValue(value) : null;
  // A value that may be a secret is not repeated.
  report(
    path,
    operatorValue === null
      ? `Expected ${kind.expected}; got ${quoteFieldValue(value)}.`
      : `Expected ${kind.expected}, but this looks like ${operatorValue}: define it in the operator's .ai-agent.json, and refer to it here by name.`,
  );
  return undefined;
};

/** Recognises values that belong in the operator's config; null for any other. */
const describeOperatorValue = (value: string): string | null => {
  if (value.includes('://')) return 'a URL';
  if (value.includes('${') || /^[A-Za-z_][A-Za-z0-9_]{0,80}=/u.test(value)) return 'an environment value';
  return /\s/u.test(value.trim()) ? 'a command' : null;
};

const readSchema = (
  { ofObject }: Extract<FieldKind, { is: 'schema' }>,
  value: Json | undefined,
  path: FieldPath,
  reader: ValueReader,
): JsonObject | undefined => {
  const type = isMapping(value) ? value['type'] : undefined;
  if (!isMapping(value) || (ofObject && type !== undefined && type !== 'object')) {
    reader.report(
      path,
      ofObject
        ? 'Expected a JSON Schema for an object (`type: object`): callers send an object.'
        : `Expected a JSON Schema, as a block of keys; got ${quoteFieldValue(value)}.`,
    );
    return undefined;
  }
  const problem = reader.checkSchema?.(value) ?? null;
  if (problem !== null) reader.report(path, `This schema cannot be used: ${problem}`);
  return problem === null ? value : undefined;
};

export const isMapping = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value shortened for an error message. */
export const quoteFieldValue = (value: Json | undefined): string => {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a block of keys';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
};

const regexes = new Map<string, RegExp>();

export const hasShape = (text: string, { shape, never }: NameShape): boolean =>
  cachedRegex(shape).test(text) && (never === undefined || !cachedRegex(never).test(text));

const cachedRegex = (shape: string): RegExp => {
  let regex = regexes.get(shape);
  if (regex === undefined) regexes.set(shape, (regex = new RegExp(shape, 'u')));
  return regex;
};
