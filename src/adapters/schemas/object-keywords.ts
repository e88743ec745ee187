// The keywords for objects.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { higher, invalid, lower, seenSteps, valid, describeValue } from './check-run.ts';
import type { CheckRun, Keyword, Place, SchemaNode, CheckVerdict } from './check-run.ts';
import type { Pattern } from './pattern.ts';
import { onlyFor } from './keyword-reader.ts';
import type { KeywordReader } from './keyword-reader.ts';

const isJsonObject = (value: Json): value is JsonObject => isObject(value);

/** In this order: `unevaluatedProperties` asks what all others have seen. */
export const objectKeywords = (reader: KeywordReader): readonly Keyword[] =>
  [
    required(reader),
    size(reader),
    names(reader),
    ...dependencies(reader),
    properties(reader),
    unevaluated(reader),
  ].filter((keyword) => keyword !== null);

/** For looking up a name that may be missing. */
const nameSteps = 3;

const required = (reader: KeywordReader): Keyword | null => {
  const needed = reader.value('required');
  if (needed === undefined) return null;
  return onlyFor(isJsonObject, (value, place, run) => {
    run.take(nameSteps * needed.length);
    return missing(value, needed, place, run, () => 'is missing');
  });
};

const missing = (
  value: JsonObject,
  needed: readonly string[],
  place: Place,
  run: CheckRun,
  text: () => string,
): CheckVerdict => {
  let verdict: CheckVerdict = valid;
  for (const key of needed)
    if (!Object.hasOwn(value, key)) verdict = run.report(place, () => `the property ${describeValue(key)} ${text()}`);
  return verdict;
};

const keysOf = (value: JsonObject, run: CheckRun): readonly string[] => {
  const keys = Object.keys(value);
  run.take(keys.length);
  return keys;
};

const size = (reader: KeywordReader): Keyword | null => {
  const [min, max] = [reader.value('minProperties'), reader.value('maxProperties')];
  if (min === undefined && max === undefined) return null;
  return onlyFor(isJsonObject, (value, place, run) => {
    const { length } = keysOf(value, run);
    if (min !== undefined && length < min)
      return run.report(place, () => `expected at least ${min} properties, got ${length}`);
    if (max !== undefined && length > max)
      return run.report(place, () => `expected at most ${max} properties, got ${length}`);
    return valid;
  });
};

const names = (reader: KeywordReader): Keyword | null => {
  const node = reader.node('propertyNames');
  if (node === null) return null;
  return onlyFor(isJsonObject, (value, place, run) => {
    let verdict: CheckVerdict = valid;
    for (const key of keysOf(value, run))
      verdict = lower(
        verdict,
        run.reportAbove(
          place,
          () => `the name ${describeValue(key)} is not allowed`,
          () => run.apply(node, key, { above: place, key }),
        ),
      );
    return verdict;
  });
};

const dependencies = (reader: KeywordReader): readonly Keyword[] => {
  const found: Keyword[] = [];
  for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies'] as const) {
    const given = reader.value(keyword);
    if (!isObject(given)) continue;
    const entries = Object.entries(given).map(([key, needs]) => [key, dependency(key, needs, reader)] as const);
    found.push(
      onlyFor(isJsonObject, (value, place, run, seen) => {
        run.take(nameSteps * entries.length);
        let verdict: CheckVerdict = valid;
        for (const [key, check] of entries)
          if (Object.hasOwn(value, key)) verdict = lower(verdict, check(value, place, run, seen));
        return verdict;
      }),
    );
  }
  return found;
};

/** The names of other properties, or a schema of the whole object. */
const dependency = (key: string, needs: unknown, { nodes }: KeywordReader): Keyword => {
  if (!Array.isArray(needs)) {
    const node = nodes.node(needs);
    return (value, place, run, seen) => run.applyInPlace(node, value, place, seen);
  }
  const needed = needs.filter((name) => typeof name === 'string');
  return (value, place, run) => {
    run.take(nameSteps * needed.length);
    return missing(value as JsonObject, needed, place, run, () => `is missing, which ${describeValue(key)} needs`);
  };
};

type NamePattern = { readonly pattern: Pattern | null; readonly node: SchemaNode };

const properties = (reader: KeywordReader): Keyword | null => {
  const named = reader.map('properties');
  const patterns = [...(reader.map('patternProperties') ?? [])].map(([source, node]): NamePattern => ({
    pattern: reader.nodes.pattern(source),
    node,
  }));
  const others = reader.node('additionalProperties');
  if (named === null && patterns.length === 0 && others === null) return null;
  return onlyFor(isJsonObject, (value, place, run, seen) => {
    let verdict: CheckVerdict = valid;
    const keys = keysOf(value, run);
    if (seen !== null) run.take(seenSteps * keys.length);
    for (const key of keys) {
      const [part, at] = [value[key]!, { above: place, key }];
      const node = named?.get(key);
      let covered: CheckVerdict = node === undefined ? invalid : valid;
      if (node !== undefined) verdict = lower(verdict, run.apply(node, part, at));
      for (const one of patterns) {
        const matches = run.matches(one.pattern, key);
        if (matches !== invalid) verdict = lower(verdict, run.applyIf(matches, one.node, part, at));
        covered = higher(covered, matches);
      }
      if (others !== null && covered !== valid) {
        verdict = lower(verdict, run.applyIf(covered === invalid ? valid : covered, others, part, at));
        covered = valid;
      }
      if (covered !== invalid) seen?.set(key, higher(seen.get(key) ?? invalid, covered));
    }
    return verdict;
  });
};

const unevaluated = (reader: KeywordReader): Keyword | null => {
  const node = reader.node('unevaluatedProperties');
  if (node === null) return null;
  return onlyFor(isJsonObject, (value, place, run, seen) => {
    let verdict: CheckVerdict = valid;
    for (const key of keysOf(value, run)) {
      const covered = seen?.get(key) ?? invalid;
      if (covered === valid) continue;
      const applies = covered === invalid ? valid : covered;
      verdict = lower(verdict, run.applyIf(applies, node, value[key]!, { above: place, key }));
      seen?.set(key, valid);
    }
    return verdict;
  });
};
