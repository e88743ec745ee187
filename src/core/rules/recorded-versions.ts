// The versions of rules, estimates and texts that the runs of each format use.
//
//   version-never-changes. Once it is frozen, a new one is added beside it, and every earlier format keeps using the old
//       one. So whatever was recorded can be audited, replayed and resumed by a later build.
import { CloisterError } from '#base';
import type { RuleName } from '#contracts';

type RecordedVersions = {
  /** The code names the newest version of each rule. A format that used an earlier version lists it here, under the newest name. */
  readonly earlierRules: Readonly<Partial<Record<RuleName, RuleName>>>;
  /** Which estimate of what an attempt may cost: see `holdRulesByVersion`. */
  readonly holdEstimate: number;
  /** Which texts about tasks, in the answers and goals of teams: see `teamTextsByVersion`. */
  readonly teamTexts: number;
};

export const versionsByFormat: Readonly<Record<number, RecordedVersions>> = {
  5: { earlierRules: {}, holdEstimate: 1, teamTexts: 1 },
  6: { earlierRules: {}, holdEstimate: 2, teamTexts: 1 },
  7: { earlierRules: {}, holdEstimate: 2, teamTexts: 1 },
  8: { earlierRules: {}, holdEstimate: 2, teamTexts: 1 },
  9: { earlierRules: {}, holdEstimate: 2, teamTexts: 1 },
};

/** Throws `run_format`. */
export const recordedVersions = (format: number): RecordedVersions => {
  const versions = versionsByFormat[format];
  if (versions === undefined) throw new CloisterError('run_format', `Format ${format}.`);
  return versions;
};

/** The version of a rule that runs of a format use. */
export const ruleInFormat = (rule: RuleName, format: number): RuleName =>
  recordedVersions(format).earlierRules[rule] ?? rule;

/** The name of a rule without its version. */
export const ruleFamily = (rule: RuleName): string => rule.slice(0, rule.lastIndexOf('@'));

/** Whether a segment was made by one of these rules, in whatever version. */
export const isMadeBy = (rule: RuleName, ...families: readonly string[]): boolean =>
  families.includes(ruleFamily(rule));
