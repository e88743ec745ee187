// Which runs a list is asked for, where no database looks for them.
import type { RunId } from '#base';
import type { WhichRuns } from '#contracts';
import type { RunFacts } from './run-facts.ts';

export const isAsked = (
  which: WhichRuns | undefined,
  run: RunId,
  { caller, startedAt }: Pick<RunFacts, 'caller' | 'startedAt'>,
): boolean => {
  if (which === undefined) return true;
  return 'caller' in which ? which.caller === caller && startedAt >= (which.since ?? 0) : which.runs.includes(run);
};

/** Undefined: all. */
export const mostOf = (which: WhichRuns | undefined): number | undefined =>
  which !== undefined && 'caller' in which ? which.most : undefined;
