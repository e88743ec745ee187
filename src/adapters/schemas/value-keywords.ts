// The keywords that look at one value: its kind, equality, numbers and texts.
import { createRequire } from 'node:module';
import type * as Library from '@cfworker/json-schema';
import type { Json } from '#base';
import { charsPerStep, invalid, valid, describeValue, showLater } from './check-run.ts';
import type { Keyword } from './check-run.ts';
import { equalValues } from './compare-values.ts';
import { onlyFor, reportUnless } from './keyword-reader.ts';
import type { KeywordReader } from './keyword-reader.ts';
import { countChars } from './pattern.ts';

export const valueKeywords = (reader: KeywordReader): readonly Keyword[] =>
  [type(reader), constant(reader), enumeration(reader), ...numbers(reader), ...texts(reader)].filter(
    (keyword) => keyword !== null,
  );

const typeOf = (value: Json): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

const type = (reader: KeywordReader): Keyword | null => {
  const given = reader.value('type');
  if (given === undefined) return null;
  const types = new Set(typeof given === 'string' ? [given] : given);
  return (value, place, run) => {
    const name = typeOf(value);
    const fits = types.has(name) || (name === 'number' && types.has('integer') && Number.isInteger(value));
    return reportUnless(fits, place, run, () => `expected ${[...types].join(' or ')}, got ${name}`);
  };
};

const constant = ({ schema }: KeywordReader): Keyword | null => {
  const expected = schema['const'] as Json | undefined;
  if (expected === undefined) return null;
  const shown = showLater(expected);
  return (value, place, run) =>
    reportUnless(equalValues(value, expected, run), place, run, () => `expected ${shown()}`);
};

const enumeration = (reader: KeywordReader): Keyword | null => {
  const options = reader.value('enum');
  if (options === undefined) return null;
  const simple = new Set(options.filter((option) => typeof option !== 'object' || option === null));
  const composed = options.filter((option) => typeof option === 'object' && option !== null);
  const shown = showLater(options);
  return (value, place, run) => {
    if (typeof value === 'string') run.take(Math.ceil(value.length / charsPerStep));
    const fits =
      typeof value === 'object' && value !== null
        ? composed.some((option) => equalValues(value, option, run))
        : simple.has(value);
    return reportUnless(fits, place, run, () => `expected one of ${shown()}`);
  };
};

const isNumber = (value: Json): value is number => typeof value === 'number';
const isText = (value: Json): value is string => typeof value === 'string';

/** For each bound: which values hold, and what the others are told. */
const bounds = {
  minimum: [(value, bound) => value >= bound, 'at least'],
  maximum: [(value, bound) => value <= bound, 'at most'],
  exclusiveMinimum: [(value, bound) => value > bound, 'more than'],
  exclusiveMaximum: [(value, bound) => value < bound, 'less than'],
} as const satisfies Readonly<Record<string, readonly [(value: number, bound: number) => boolean, string]>>;

const numbers = (reader: KeywordReader): readonly Keyword[] => {
  const found: Keyword[] = [];
  for (const key of Object.keys(bounds) as (keyof typeof bounds)[]) {
    const [[holds, text], bound] = [bounds[key], reader.value(key)];
    if (bound === undefined) continue;
    found.push(
      onlyFor(isNumber, (value, place, run) =>
        reportUnless(holds(value, bound), place, run, () => `expected ${text} ${bound}, got ${value}`),
      ),
    );
  }
  const divisor = reader.value('multipleOf');
  if (divisor !== undefined)
    found.push(
      onlyFor(isNumber, (value, place, run) => {
        // Numbers of very different sizes are divided digit by digit.
        run.take(100);
        return reportUnless(isMultipleOf(value, divisor), place, run, () => `expected a multiple of ${divisor}`);
      }),
    );
  return found;
};

const texts = (reader: KeywordReader): readonly (Keyword | null)[] => [length(reader), pattern(reader), format(reader)];

const length = (reader: KeywordReader): Keyword | null => {
  const [min, max] = [reader.value('minLength'), reader.value('maxLength')];
  if (min === undefined && max === undefined) return null;
  return onlyFor(isText, (value, place, run) => {
    run.take(Math.ceil(value.length / charsPerStep));
    const count = countChars(value);
    if (min !== undefined && count < min)
      return run.report(place, () => `expected at least ${min} characters, got ${count}`);
    if (max !== undefined && count > max)
      return run.report(place, () => `expected at most ${max} characters, got ${count}`);
    return valid;
  });
};

const pattern = (reader: KeywordReader): Keyword | null => {
  const source = reader.schema['pattern'];
  if (typeof source !== 'string') return null;
  const compiled = reader.nodes.pattern(source);
  return onlyFor(isText, (value, place, run) => {
    const verdict = run.matches(compiled, value);
    return verdict === invalid
      ? run.report(place, () => `does not match the pattern ${describeValue(source)}`)
      : verdict;
  });
};

const format = (reader: KeywordReader): Keyword | null => {
  const name = reader.value('format');
  const known = name === undefined ? undefined : formatNamed(name);
  if (known === undefined) return null;
  const { matches, steps } = known;
  return onlyFor(isText, (value, place, run) => {
    run.take(steps(value));
    return reportUnless(matches(value), place, run, () => `does not match the format "${name}"`);
  });
};

type Formats = ReadonlyMap<string, Format>;

type Format = { readonly matches: (text: string) => boolean; readonly steps: (text: string) => number };

let loaded: Formats | undefined;

/** Unknown formats are not checked. Each known one takes time that is linear in the text. Loaded when a schema has one. */
const formatNamed = (name: string): Format | undefined => {
  loaded ??= loadFormats();
  return loaded.get(name);
};

const loadFormats = (): Formats => {
  const library = createRequire(import.meta.url)('@cfworker/json-schema') as typeof Library;
  // `url` is not a format of JSON Schema, and the library's expression for it takes exponential time.
  const formats = [...Object.entries(library.format), ['url', library.format['uri']!] as const];
  return new Map(
    formats.map(([name, matches]) => [name, { matches, steps: name === 'regex' ? regexSteps : charSteps }]),
  );
};

const charSteps = (text: string): number => text.length;

/** JavaScript reads a table of Unicode for each property that an expression names, and sorts what a class lists. */
const regexSteps = (text: string): number =>
  text.length ** 2 / 64 + (text.length > 4_000 ? 0 : (text.match(/\\p\{/giu)?.length ?? 0) * 1_000);

/** Exact for the decimal numbers that were written: 19.99 is a multiple of 0.01. */
const isMultipleOf = (value: number, divisor: number): boolean => {
  // JSON can contain 1e400, which is read as Infinity.
  if (!Number.isFinite(value)) return false;
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0;
  const [one, other] = [decimal(value), decimal(divisor)];
  const exponent = Math.min(one.exponent, other.exponent);
  const scale = (number: Decimal): bigint => number.digits * 10n ** BigInt(number.exponent - exponent);
  return scale(one) % scale(other) === 0n;
};

type Decimal = { readonly digits: bigint; readonly exponent: number };

const decimal = (value: number): Decimal => {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
};
