// A judge looks at what the world saw and says what should not have been. It counts what it looked at.
import type { History } from '../history.ts';

export type Problem = { readonly judge: string; readonly expected: string; readonly seen: string };

export type Say = (expected: string, seen: string) => void;

export type Judge = {
  readonly name: string;
  /** Gives the number of checks. */
  look(history: History, say: Say): number;
};

export type Verdict = { readonly problems: readonly Problem[]; readonly checks: Readonly<Record<string, number>> };

/** The first few of each judge: one cause often has a thousand signs. */
const problemsMax = 10;
const charsMax = 2_000;

export const hear = (judges: readonly Judge[], history: History): Verdict => {
  const problems: Problem[] = [];
  const checks: Record<string, number> = {};
  for (const judge of judges) {
    const { name } = judge;
    let said = 0;
    checks[name] = judge.look(history, (expected, seen) => {
      if (said++ < problemsMax) problems.push({ judge: name, expected: cut(expected), seen: cut(seen) });
    });
  }
  return { problems, checks };
};

const cut = (text: string): string => (text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`);
