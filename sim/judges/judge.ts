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

export const hear = (judges: readonly Judge[], history: History): Verdict => {
  const problems: Problem[] = [];
  const checks: Record<string, number> = {};
  for (const judge of judges) {
    const { name } = judge;
    checks[name] = judge.look(history, (expected, seen) => void problems.push({ judge: name, expected, seen }));
  }
  return { problems, checks };
};
