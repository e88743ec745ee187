// The list of runs, including runs that the list table has lost.
//
//   list-compares-tails. Only tails are compared, so the length of a log makes no difference.
//   list-read-last. Other sources are read before the list, so that a run that starts meanwhile is not taken for lost.
import { recordFormatProblem } from '#base';
import type { RunId } from '#base';
import type { Frame, RunSummary, RunQuery } from '#contracts';
import { workspaceLogName } from './workspace-log.ts';
import { findAcknowledgedHeads } from './heads-folder.ts';
import type { HeadsFile } from './heads-folder.ts';
import type { LogRows, RunRow } from './log-rows.ts';
import type { Owners } from './processes.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { storeError } from './store-error.ts';

/** Newest first; all runs without a query. */
export const listStoredRuns = (rows: LogRows, owners: Owners, query?: RunQuery): readonly RunSummary[] => {
  const heads = rows.heads?.();
  if (heads === undefined) return rows.list(query).map((row) => summariseRun(row, owners));
  if (query === undefined) return listAll(rows, owners, heads);
  return 'caller' in query
    ? rows.list(query).map((row) => summaryOrDamaged(row, owners, heads))
    : listSome(rows, owners, { heads, ...query });
};

/** Reads the whole list only when one of the runs is missing from it. */
const listSome = (
  rows: LogRows,
  owners: Owners,
  { heads, runs }: { readonly heads: readonly HeadsFile[]; readonly runs: readonly RunId[] },
): readonly RunSummary[] => {
  const found = rows.list({ runs });
  const listed = new Set(found.map(({ run }) => run));
  const isLost = (run: RunId): boolean =>
    !listed.has(run) && (findAcknowledgedHeads(heads, run).tails.length > 0 || rows.tailAt(run) !== undefined);
  if (!runs.some(isLost)) return found.map((row) => summaryOrDamaged(row, owners, heads));
  const wanted = new Set(runs);
  return listAll(rows, owners, heads).filter(({ run }) => wanted.has(run));
};

const summaryOrDamaged = (row: RunRow, owners: Owners, heads: readonly HeadsFile[]): RunSummary =>
  hasLostEnd(row, heads) ? damagedSummary(row.run, extractFacts(row)) : summariseRun(row, owners);

const listAll = (rows: LogRows, owners: Owners, heads: readonly HeadsFile[]): readonly RunSummary[] => {
  const withFrames = readRunsWithFrames(rows);
  const listed = new Map(rows.list().map((row) => [row.run, row]));
  const lost = lostRuns(rows, { heads, withFrames, listed });
  const kept = [...listed.values()].map((row) => ({
    startedAt: row.startedAt,
    summary: summaryOrDamaged(row, owners, heads),
  }));
  return [...lost, ...kept].sort((one, other) => other.startedAt - one.startedAt).map(({ summary }) => summary);
};

const summariseRun = (row: RunRow, owners: Owners): RunSummary => {
  const { run, owner } = row;
  const unreadable = recordFormatProblem(run, row.recordedBy);
  const facts = { ...extractFacts(row), ...(unreadable === undefined ? {} : { unreadable }) };
  if (facts.endedAt !== null) return { run, ...facts, state: 'ended', owner: null };
  if (owner === null || !owners.isAlive(owner)) return { run, ...facts, state: 'interrupted', owner: null };
  const running = { run, ...facts, state: 'running', owner: owners.describe(owner) } as const;
  return owners.isRemote?.(owner) === true ? { ...running, elsewhere: true } : running;
};

const extractFacts = ({
  agent,
  goal,
  startedAt,
  endedAt,
  status,
  cells,
  caller,
  spent,
  recordedBy,
}: RunRow): RunFacts => ({
  agent,
  goal,
  startedAt,
  endedAt,
  status,
  cells,
  caller,
  spent,
  recordedBy,
});

const damagedSummary = (run: RunId, facts: RunFacts): RunSummary => ({ run, ...facts, state: 'damaged', owner: null });

const hasLostEnd = ({ run, tails }: RunRow, heads: readonly HeadsFile[]): boolean => {
  const acknowledged = findAcknowledgedHeads(heads, run);
  if (tails?.listed === undefined) return false;
  const { listed, last } = tails;
  if (acknowledged.problems.length > 0 || last?.no !== listed.no || last.hash !== listed.hash) return true;
  return acknowledged.tails.some(({ no, hash }) => no > listed.no || (no === listed.no && hash !== listed.hash));
};

/** Empty when frames are unreadable; then only the list can name the runs. */
const readRunsWithFrames = (rows: LogRows): readonly RunId[] => {
  try {
    return rows.runs();
  } catch (error) {
    const failure = storeError(error, 'store_unreadable');
    if (failure.code !== 'store_damaged') throw failure;
    return [];
  }
};

type RunSources = {
  readonly heads: readonly HeadsFile[];
  readonly withFrames: readonly RunId[];
  readonly listed: ReadonlyMap<RunId, RunRow>;
};

type DatedSummary = { readonly startedAt: number; readonly summary: RunSummary };

/** Runs that have frames or heads and are missing from the list. */
const lostRuns = (rows: LogRows, { heads, withFrames, listed }: RunSources): readonly DatedSummary[] => {
  const bounds = latestStarts(heads, listed);
  const lost = new Set([...bounds.keys(), ...withFrames]);
  return [...lost]
    .filter((run) => run !== workspaceLogName && !listed.has(run))
    .map((run) => {
      const facts = { ...readFirstFacts(rows, run), cells: 0 };
      const startedAt = facts.startedAt === 0 ? (bounds.get(run) ?? 0) : facts.startedAt;
      return { startedAt, summary: damagedSummary(run, facts) };
    });
};

/**
 * An upper bound of the start time of unlisted runs: a heads file lists runs in the order in which they were first recorded.
 * The newest come first.
 */
const latestStarts = (heads: readonly HeadsFile[], listed: ReadonlyMap<RunId, RunRow>): ReadonlyMap<RunId, number> => {
  const starts = new Map<RunId, number>();
  for (const { heads: acknowledged, changedAt } of heads) {
    let latest = changedAt;
    for (const run of [...acknowledged.tails.keys()].toReversed()) {
      const row = listed.get(run);
      if (row === undefined) starts.set(run, Math.max(latest, starts.get(run) ?? 0));
      // Runs before it started earlier. A resumed run may have started before the file was created.
      else latest = Math.min(latest, Math.max(row.startedAt, acknowledged.owner?.since ?? 0) - 1);
    }
  }
  return starts;
};

/** The facts of the first frame, if it is there. */
const readFirstFacts = (rows: LogRows, run: RunId): RunFacts => {
  try {
    const [first] = rows.chunk?.(run, 0, 1) ?? [];
    return first?.no === 0 ? foldFacts(noFacts, JSON.parse(String(first.body)) as Frame) : noFacts;
  } catch {
    return noFacts;
  }
};
