// The keywords for lists.
import type { Json } from '#base';
import { invalid, lower, seenSteps, undecided, valid } from './check-run.ts';
import type { Keyword, CheckVerdict } from './check-run.ts';
import { valueText } from './compare-values.ts';
import { onlyFor } from './keyword-reader.ts';
import type { KeywordReader } from './keyword-reader.ts';

const isList = (value: Json): value is Json[] => Array.isArray(value);

/** In this order: `unevaluatedItems` asks what all others have seen. */
export const arrayKeywords = (reader: KeywordReader): readonly Keyword[] =>
  [size(reader), unique(reader), items(reader), contains(reader), unevaluated(reader)].filter(
    (keyword) => keyword !== null,
  );

const size = (reader: KeywordReader): Keyword | null => {
  const [min, max] = [reader.value('minItems'), reader.value('maxItems')];
  if (min === undefined && max === undefined) return null;
  return onlyFor(isList, ({ length }, place, run) => {
    if (min !== undefined && length < min)
      return run.report(place, () => `expected at least ${min} items, got ${length}`);
    if (max !== undefined && length > max)
      return run.report(place, () => `expected at most ${max} items, got ${length}`);
    return valid;
  });
};

const unique = (reader: KeywordReader): Keyword | null => {
  if (reader.value('uniqueItems') !== true) return null;
  return onlyFor(isList, (value, place, run) => {
    const places = new Map<string, number>();
    for (const [at, item] of value.entries()) {
      const text = valueText(item, run);
      const earlier = places.get(text);
      if (earlier !== undefined) return run.report(place, () => `items ${earlier} and ${at} are equal`);
      places.set(text, at);
    }
    return valid;
  });
};

/** Draft 7 has the first items in `items`, and `additionalItems` for the rest. If a schema has both lists, `prefixItems` decides. */
const items = (reader: KeywordReader): Keyword | null => {
  const old = Array.isArray(reader.schema['items']);
  const prefix = reader.list('prefixItems') ?? [];
  const first = [...prefix, ...(old ? (reader.list('items') ?? []).slice(prefix.length) : [])];
  const rest = reader.node(old ? 'additionalItems' : 'items');
  if (first.length === 0 && rest === null) return null;
  return onlyFor(isList, (value, place, run, seen) => {
    let verdict: CheckVerdict = valid;
    const end = rest === null ? Math.min(first.length, value.length) : value.length;
    if (seen !== null) run.take(seenSteps * end);
    for (let at = 0; at < end; at++) {
      verdict = lower(verdict, run.apply(first[at] ?? rest!, value[at]!, { above: place, key: at }));
      seen?.set(at, valid);
    }
    return verdict;
  });
};

const contains = (reader: KeywordReader): Keyword | null => {
  const node = reader.node('contains');
  if (node === null) return null;
  const [min, max] = [reader.value('minContains') ?? 1, reader.value('maxContains') ?? Infinity];
  return onlyFor(isList, (value, place, run, seen) => {
    let [matched, open] = [0, 0];
    if (seen !== null) run.take(seenSteps * value.length);
    for (const [at, item] of value.entries()) {
      const verdict = run.withoutReports(() => run.apply(node, item, { above: place, key: at }));
      if (verdict === invalid) continue;
      if (verdict === valid) matched++;
      else open++;
      if (seen !== null && seen.get(at) !== valid) seen.set(at, verdict);
    }
    if (matched + open < min)
      return run.report(place, () => `expected at least ${min} items that match "contains", got ${matched}`);
    if (matched > max)
      return run.report(place, () => `expected at most ${max} items that match "contains", got ${matched}`);
    return matched >= min && matched + open <= max ? valid : undecided;
  });
};

const unevaluated = (reader: KeywordReader): Keyword | null => {
  const node = reader.node('unevaluatedItems');
  if (node === null) return null;
  return onlyFor(isList, (value, place, run, seen) => {
    let verdict: CheckVerdict = valid;
    run.take(value.length);
    for (const [at, item] of value.entries()) {
      const covered = seen?.get(at) ?? invalid;
      if (covered === valid) continue;
      const applies = covered === invalid ? valid : covered;
      verdict = lower(verdict, run.applyIf(applies, node, item, { above: place, key: at }));
      seen?.set(at, valid);
    }
    return verdict;
  });
};
