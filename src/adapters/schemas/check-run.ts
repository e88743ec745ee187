// One check of one value against one schema.
//
//   schema-verdict-by-steps. The verdict depends on schema and value only: work is counted in steps, never measured in time,
//       and the depth of recursion is limited before the stack is.
//   schema-pattern-undecided. A pattern that cannot be used here decides nothing: the verdict is then undecided, in both
//       directions.
import { isObject } from '#base';
import type { Json } from '#base';
import type { Pattern } from './pattern.ts';

/** The lower of two verdicts holds for "both", the higher for "one of them". */
export type CheckVerdict = 0 | 1 | 2;
export const [invalid, undecided, valid] = [0, 1, 2] as const;
export const lower = (one: CheckVerdict, other: CheckVerdict): CheckVerdict => (one < other ? one : other);
export const higher = (one: CheckVerdict, other: CheckVerdict): CheckVerdict => (one > other ? one : other);

/** Where in the value; null for the value itself. */
export type Place = { readonly above: Place; readonly key: string | number } | null;

/** Which properties or items of a value some schema has applied to, for `unevaluatedProperties` and `unevaluatedItems`. */
export type SeenKeys = Map<string | number, CheckVerdict>;

/** A schema as it is applied: one function for each keyword. */
export interface SchemaNode {
  readonly keywords: readonly Keyword[];
  /** Whether a keyword asks what others have seen. */
  readonly tracksSeen: boolean;
}

export type Keyword = (value: Json, place: Place, run: CheckRun, seen: SeenKeys | null) => CheckVerdict;

/** The value is refused, since it would take too long to say more about it. */
export class TooCostly extends Error {}

/** Written out at the end, because most problems are those of a branch that is not needed. */
type Problem = { readonly place: Place; readonly text: () => string };

const depthMax = 400;
const problemsMax = 100;

/** For remembering one property or item that a schema has applied to. */
export const seenSteps = 4;

/** Comparing, hashing or counting this many characters takes about as long as one step. */
export const charsPerStep = 16;

export class CheckRun {
  readonly #limit: number;
  #left: number;
  #depth = 0;
  #quiet = 0;
  readonly #problems: Problem[] = [];

  constructor(limit: number) {
    this.#limit = limit;
    this.#left = limit;
  }

  /** Never more than the limit, although the last thing that was refused may have needed more. */
  get stepsUsed(): number {
    return Math.min(this.#limit, this.#limit - this.#left);
  }

  get problems(): readonly string[] {
    const shown = new Map<Place, string>([[null, '']]);
    return [
      ...new Set(this.#problems.map(({ place, text }) => `${showPlace(place, shown) || 'the value'}: ${text()}`)),
    ];
  }

  /** Called before the work is done. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooCostly();
  }

  apply(node: SchemaNode, value: Json, place: Place, seen: SeenKeys | null = null): CheckVerdict {
    const { keywords } = node;
    this.take(2 + keywords.length);
    if (++this.#depth > depthMax) throw new TooCostly(`it is nested deeper than ${depthMax} levels of the schema`);
    const tracked = seen ?? (node.tracksSeen ? new Map<string | number, CheckVerdict>() : null);
    let verdict: CheckVerdict = valid;
    for (const keyword of keywords) verdict = lower(verdict, keyword(value, place, this, tracked));
    this.#depth--;
    return verdict;
  }

  /** Applies a schema to the same value as the schema that contains it. What it has seen counts unless it is invalid. */
  applyInPlace(
    node: SchemaNode,
    value: Json,
    place: Place,
    seen: SeenKeys | null,
    concerns: CheckVerdict = valid,
  ): CheckVerdict {
    if (seen === null) return this.apply(node, value, place);
    const own: SeenKeys = new Map();
    const verdict = this.apply(node, value, place, own);
    if (verdict === invalid) return verdict;
    this.take(seenSteps * own.size);
    const most = lower(verdict, concerns);
    for (const [key, how] of own) seen.set(key, higher(seen.get(key) ?? invalid, lower(how, most)));
    return verdict;
  }

  /** Applies a schema that may not concern the value, if `concerns` is undecided. */
  applyIf(concerns: CheckVerdict, node: SchemaNode, value: Json, place: Place): CheckVerdict {
    if (concerns === valid) return this.apply(node, value, place);
    return higher(
      undecided,
      this.withoutReports(() => this.apply(node, value, place)),
    );
  }

  withoutReports(work: () => CheckVerdict): CheckVerdict {
    this.#quiet++;
    const verdict = work();
    this.#quiet--;
    return verdict;
  }

  /** What `work` reports counts only if the verdict is invalid; then `text` comes first. */
  reportAbove(place: Place, text: (() => string) | null, work: () => CheckVerdict): CheckVerdict {
    const before = this.#problems.length;
    const verdict = work();
    const reported = this.#problems.splice(before);
    if (verdict !== invalid) return verdict;
    if (text !== null) this.report(place, text);
    this.#problems.push(...reported.slice(0, problemsMax - this.#problems.length));
    return verdict;
  }

  matches(pattern: Pattern | null, text: string): CheckVerdict {
    if (pattern === null) return undecided;
    this.take(pattern.steps(text));
    return pattern.matches(text) ? valid : invalid;
  }

  report(place: Place, text: () => string): typeof invalid {
    if (this.#quiet === 0 && this.#problems.length < problemsMax) this.#problems.push({ place, text });
    return invalid;
  }
}

/** `shown`: the places that were written before; many problems have a place above them in common. */
const showPlace = (place: Place, shown: Map<Place, string>): string => {
  let text = shown.get(place);
  if (text === undefined) {
    const { above, key } = place!;
    text = `${showPlace(above, shown)}/${truncateChars(String(key)).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    shown.set(place, text);
  }
  return text;
};

// Describes unknown values for the messages of schema checks.
export const describeValue = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return 'an object';
  return typeof value === 'string' ? JSON.stringify(truncateChars(value)) : String(value);
};

export const truncateChars = (text: string): string => (text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);

const charsMax = 120;

/** As JSON, cut to a length that fits into a message. It is written once, and only when it is first needed. */
export const showLater = (value: unknown): (() => string) => {
  let shown: string | null = null;
  return () => {
    if (shown === null) {
      const text = JSON.stringify(value);
      shown = text.length > jsonCharsMax ? `${text.slice(0, jsonCharsMax)}…` : text;
    }
    return shown;
  };
};

const jsonCharsMax = 500;
