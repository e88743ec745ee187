// The kinds of frontmatter values. Each kind is parsed in one place, written in one place, and has one JSON Schema.
import type { Json } from '#base';

export type FieldKind =
  | { readonly is: 'text' }
  /** One word that matches a pattern: a name, a path, `<provider>/<model>`. `operators`: it refers to something in the operator's config. */
  | (NameShape & { readonly is: 'word'; readonly operators?: true })
  | { readonly is: 'choice'; readonly of: readonly string[] }
  | { readonly is: 'number'; readonly rule: NumberRule }
  | { readonly is: 'duration' }
  /** The number of parallel tool calls: a number, true or false. */
  | { readonly is: 'parallel' }
  | { readonly is: 'schema'; readonly ofObject: boolean }
  /** A single item may be written without a list. */
  | { readonly is: 'list'; readonly of: FieldKind; readonly itemsMin: number }
  /** True or false. */
  | { readonly is: 'flag'; readonly expected: string }
  /** A map from names to values. */
  | { readonly is: 'map'; readonly names: NameShape; readonly of: FieldKind }
  | PlainOrBlock
  | BlockKind;

/** Patterns: what a name looks like, and what must not occur in it. */
export type NameShape = { readonly shape: string; readonly never?: string; readonly expected: string };

/** A block of keys, or a plain value instead. */
export type PlainOrBlock = {
  readonly is: 'either';
  readonly plain: FieldKind;
  readonly block: BlockKind;
  /** The key of the block under which a plain value is stored. */
  readonly as?: string;
};

export type BlockKind = {
  readonly is: 'block';
  readonly fields: readonly FrontmatterField[];
  readonly required: readonly string[];
  /** At least one of these keys is required. */
  readonly someOf?: readonly string[];
  /** The key whose value may replace the whole block. */
  readonly short?: string;
  /** The block may contain nothing, or only comments. */
  readonly mayBeEmpty?: true;
};

export type NumberRule = { readonly min: number; readonly max?: number; readonly whole: boolean };

export type FieldGroup = 'required' | 'recommended' | 'limits' | 'budget' | 'settings';

export type FrontmatterField = {
  readonly key: string;
  readonly group: FieldGroup;
  readonly kind: FieldKind;
  /** One sentence. */
  readonly description: string;
  /** As written in a file. */
  readonly example: Json;
  /** The default value, as written in a file. */
  readonly default?: Json;
  /** The default in words, if no single value describes it. */
  readonly otherwise?: string;
  /** Where the value is stored in the parsed frontmatter. Default: under its own key. */
  readonly into?: readonly [string] | readonly [string, string];
  /** This key is an alias of the given one. */
  readonly aliasOf?: string;
  /** The value is divided by this number and rounded up to get the value of the aliased key. */
  readonly divideBy?: number;
};

/** What was expected, if the number breaks its rule; otherwise null. */
export const numberProblem = (value: unknown, { min, max, whole }: NumberRule): string | null => {
  if (typeof value !== 'number' || !(value >= min && value <= (max ?? Number.MAX_SAFE_INTEGER)))
    return numberExpected({ min, whole, ...(max === undefined ? {} : { max }) });
  return whole && !Number.isSafeInteger(value) ? numberExpected({ min, whole }) : null;
};

export const numberExpected = ({ min, max, whole }: NumberRule): string => {
  const what = whole ? 'a whole number' : 'a number';
  if (max !== undefined) return `${what} from ${min} to ${max}`;
  return min === -Number.MAX_SAFE_INTEGER ? what : `${what}, ${min} or more`;
};
