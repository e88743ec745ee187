// What a frontmatter value can be. Each kind is read in one place, written in one, and has one JSON Schema.
import type { Json } from '#base';

export type Kind =
  | { readonly is: 'text' }
  /** One word of a certain shape: a name, a path, `<provider>/<model>`. */
  | { readonly is: 'word'; readonly shape: string; readonly expected: string; readonly operators?: true }
  | { readonly is: 'choice'; readonly of: readonly string[] }
  | { readonly is: 'number'; readonly rule: NumberRule }
  | { readonly is: 'duration' }
  /** How many tools at once: a number, or yes and no. */
  | { readonly is: 'parallel' }
  | { readonly is: 'schema'; readonly ofObject: boolean }
  /** One item may stand without the list. */
  | { readonly is: 'list'; readonly of: Kind; readonly itemsMin: number }
  /** Yes or no. */
  | { readonly is: 'flag'; readonly expected: string }
  /** Names, each with a value. */
  | { readonly is: 'map'; readonly names: Shape; readonly of: Kind }
  | PlainOrBlock
  | BlockKind;

export type Shape = { readonly shape: string; readonly expected: string };

/** A block of keys, or something plain in its place. */
export type PlainOrBlock = {
  readonly is: 'either';
  readonly plain: Kind;
  readonly block: BlockKind;
  /** What is plain is kept as this key of the block. */
  readonly as?: string;
};

export type BlockKind = {
  readonly is: 'block';
  readonly fields: readonly FrontmatterField[];
  readonly required: readonly string[];
  /** At least one of these must be there. */
  readonly someOf?: readonly string[];
  /** The key whose value may stand for the whole block. */
  readonly short?: string;
  /** Nothing but comments in it: allowed. */
  readonly mayBeEmpty?: true;
};

export type NumberRule = { readonly min: number; readonly max?: number; readonly whole: boolean };

export type Group = 'required' | 'recommended' | 'limits' | 'budget' | 'settings';

export type FrontmatterField = {
  readonly key: string;
  readonly group: Group;
  readonly kind: Kind;
  /** One sentence. */
  readonly description: string;
  /** As one would write it. */
  readonly example: Json;
  /** What holds when it is left out, as one would write it. */
  readonly default?: Json;
  /** The same in words, where no one value does. */
  readonly otherwise?: string;
  /** Where it is kept in the checked frontmatter; under its own key unless given. */
  readonly into?: readonly [string] | readonly [string, string];
  /** Another spelling of this key. */
  readonly aliasOf?: string;
  /** Divided by this, rounded up, it is the value of the key it stands for. */
  readonly divideBy?: number;
};

/** Why a number does not fit its rule, as what was expected; null when it fits. */
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
