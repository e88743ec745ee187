// Selects the runs of a query, for stores without a database.
import type { RunId } from '#base';
import type { RunQuery } from '#contracts';
import type { RunFacts } from './run-facts.ts';

export const matchesQuery = (
  query: RunQuery | undefined,
  run: RunId,
  { caller, startedAt }: Pick<RunFacts, 'caller' | 'startedAt'>,
): boolean => {
  if (query === undefined) return true;
  return 'caller' in query ? query.caller === caller && startedAt >= (query.since ?? 0) : query.runs.includes(run);
};

/** Undefined means no limit. */
export const queryLimit = (query: RunQuery | undefined): number | undefined =>
  query !== undefined && 'caller' in query ? query.most : undefined;
