// `$ref`, and the keywords that combine schemas for the same value.
import { higher, invalid, lower, undecided, valid } from './check-run.ts';
import type { Keyword, SchemaNode, CheckVerdict } from './check-run.ts';
import type { KeywordReader } from './keyword-reader.ts';

export const branchKeywords = (reader: KeywordReader): readonly Keyword[] =>
  [reference(reader), allOf(reader), anyOf(reader), oneOf(reader), not(reader), conditional(reader)].filter(
    (keyword) => keyword !== null,
  );

const reference = ({ schema, nodes }: KeywordReader): Keyword | null => {
  if (typeof schema['$ref'] !== 'string') return null;
  const target = nodes.target(schema);
  if (target === null) throw new Error('A `$ref` leads nowhere.');
  return (value, place, run, seen) => run.applyInPlace(target, value, place, seen);
};

const allOf = (reader: KeywordReader): Keyword | null => {
  const nodes = reader.list('allOf');
  if (nodes === null) return null;
  return (value, place, run, seen) =>
    nodes.reduce<CheckVerdict>((verdict, node) => lower(verdict, run.applyInPlace(node, value, place, seen)), valid);
};

/** All branches are tried even if one is valid: each may have seen other properties. */
const anyOf = (reader: KeywordReader): Keyword | null => {
  const nodes = reader.list('anyOf');
  if (nodes === null) return null;
  return (value, place, run, seen) =>
    run.reportAbove(
      place,
      () => 'matches none of the schemas of "anyOf"',
      () => {
        let verdict: CheckVerdict = invalid;
        for (const node of nodes) {
          verdict = higher(verdict, run.applyInPlace(node, value, place, seen));
          if (verdict === valid && seen === null) break;
        }
        return verdict;
      },
    );
};

const oneOf = (reader: KeywordReader): Keyword | null => {
  const nodes = reader.list('oneOf');
  if (nodes === null) return null;
  return (value, place, run, seen) => {
    let matched = 0;
    return run.reportAbove(
      place,
      () => `matches ${matched === 0 ? 'none' : matched} of the schemas of "oneOf", not exactly one`,
      () => {
        const verdicts = nodes.map((node) => run.applyInPlace(node, value, place, seen));
        matched = verdicts.filter((verdict) => verdict === valid).length;
        const open = verdicts.filter((verdict) => verdict === undecided).length;
        if (matched > 1 || matched + open === 0) return invalid;
        return open === 0 ? valid : undecided;
      },
    );
  };
};

const opposites = [valid, undecided, invalid] as const;

const not = (reader: KeywordReader): Keyword | null => {
  const node = reader.node('not');
  if (node === null) return null;
  return (value, place, run) => {
    const verdict = opposites[run.withoutReports(() => run.apply(node, value, place))];
    return verdict === invalid ? run.report(place, () => 'matches the schema of "not"') : verdict;
  };
};

const conditional = (reader: KeywordReader): Keyword | null => {
  const condition = reader.node('if');
  if (condition === null) return null;
  const [whenValid, otherwise] = [reader.node('then'), reader.node('else')];
  return (value, place, run, seen) => {
    const apply = (node: SchemaNode | null, concerns: CheckVerdict): CheckVerdict =>
      node === null ? valid : run.applyInPlace(node, value, place, seen, concerns);
    const holds = run.withoutReports(() => run.applyInPlace(condition, value, place, seen));
    if (holds !== undecided) return apply(holds === valid ? whenValid : otherwise, valid);
    const [one, other] = [whenValid, otherwise].map((node) => run.withoutReports(() => apply(node, undecided)));
    if (one !== other) return undecided;
    return one === invalid ? run.report(place, () => 'matches neither "then" nor "else"') : one!;
  };
};
