// Which runs a list is asked for, where no database looks for them.
import type { RunId } from '#base';
import type { RunQuery } from '#contracts';
import type { RunFacts } from './run-facts.ts';

export const matchesQuery = (
  which: RunQuery | undefined,
  run: RunId,
  { caller, startedAt }: Pick<RunFacts, 'caller' | 'startedAt'>,
): boolean => {
  if (which === undefined) return true;
  return 'caller' in which ? which.caller === caller && startedAt >= (which.since ?? 0) : which.runs.includes(run);
};

/** Undefined: all. */
export const queryLimit = (which: RunQuery | undefined): number | undefined =>
  which !== undefined && 'caller' in which ? which.most : undefined;
