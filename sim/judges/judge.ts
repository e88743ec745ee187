// A judge checks a history and reports what is wrong. It counts its checks.
import type { History } from '../history.ts';

export type Problem = { readonly judge: string; readonly expected: string; readonly seen: string };

export type ReportProblem = (expected: string, seen: string) => void;

export type Judge = {
  readonly name: string;
  /** Returns the number of checks. */
  check(history: History, report: ReportProblem): number;
};

export type Verdict = { readonly problems: readonly Problem[]; readonly checks: Readonly<Record<string, number>> };

/** Keeps only the first problems of each judge, because one cause often has many symptoms. */
const problemsMax = 10;
const charsMax = 2_000;

export const runJudges = (judges: readonly Judge[], history: History): Verdict => {
  const problems: Problem[] = [];
  const checks: Record<string, number> = {};
  for (const judge of judges) {
    const { name } = judge;
    let reported = 0;
    checks[name] = judge.check(history, (expected, seen) => {
      if (reported++ < problemsMax) problems.push({ judge: name, expected: cut(expected), seen: cut(seen) });
    });
  }
  return { problems, checks };
};

const cut = (text: string): string => (text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`);
