// The list of runs, including runs that the list table has lost.
//
//   list-compares-tails. Only tails are compared, so the length of a log makes no difference.
//   list-read-last. Other sources are read before the list, or what they name is looked up in it again, so that a run that starts
//       meanwhile is not taken for lost.
//   list-page-by-index. A page costs what is on it, however many runs there are: only the whole list is compared with all frames.
import { recordFormatProblem } from '#base';
import type { RunId } from '#base';
import type { Frame, RunSummary, RunQuery } from '#contracts';
import { workspaceLogName } from './workspace-log.ts';
import { findAcknowledgedHeads } from './heads-folder.ts';
import type { FrameRow } from './chain.ts';
import type { HeadsFile } from './heads-folder.ts';
import type { LogRows, RunRow } from './log-rows.ts';
import type { Owners } from './processes.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { storeError } from './store-error.ts';

/** Newest first; all runs without a query. */
export const listStoredRuns = (rows: LogRows, owners: Owners, query: RunQuery = {}): readonly RunSummary[] => {
  const heads = rows.heads?.();
  if (heads === undefined) return rows.list(query).map((row) => summariseRun(row, owners));
  // Read before the list.
  const candidates = lostCandidates(rows, heads, query);
  const listed = rows.list(query);
  const isPage = 'most' in query && query.most !== undefined && listed.length >= query.most;
  const lost = lostRuns(rows, { heads, listed, candidates: isPage ? candidates.near : candidates.all() });
  const kept = listed.map((row) => summaryOrDamaged(row, owners, heads));
  return 'most' in query ? mergeLost(lost, kept).slice(0, query.most) : mergeLost(lost, kept);
};

type LostCandidates = {
  /** Runs that may be missing from the list: those that cost little to look up. */
  readonly near: readonly RunId[];
  /** All of them. What the list knows of them is read afterwards. */
  readonly all: () => readonly RunId[];
};

/** How many runs that begin with a prefix are looked up beside the list. */
const prefixedMax = 100;

const lostCandidates = (rows: LogRows, heads: readonly HeadsFile[], query: RunQuery): LostCandidates => {
  if ('runs' in query) {
    const isKnown = (run: RunId): boolean =>
      findAcknowledgedHeads(heads, run).tails.length > 0 || rows.tailAt(run) !== undefined;
    const near = query.runs.filter(isKnown);
    return { near, all: () => near };
  }
  const { caller, since, open, before, prefix = '', most } = query;
  // What is asked of them is not known.
  if ([caller, since, open, before].some((condition) => condition !== undefined)) return { near: [], all: () => [] };
  const near = heads.flatMap((file) => [...file.heads.tails.keys()].filter((run) => run.startsWith(prefix)));
  const withFrames = most === undefined && prefix === '' ? readRunsWithFrames(rows) : undefined;
  const all = (): readonly RunId[] => [
    ...near,
    ...(withFrames ?? readRunsWithFrames(rows, prefix === '' ? undefined : { prefix, most: most ?? prefixedMax })),
  ];
  return { near, all };
};

/** Both are newest first. What is known of the start of a lost run is its time, or a bound of it. */
const mergeLost = (lost: readonly DatedSummary[], kept: readonly RunSummary[]): readonly RunSummary[] => {
  const merged: RunSummary[] = [];
  const left = lost.toSorted((one, other) => other.startedAt - one.startedAt);
  for (const one of kept) {
    while (left[0] !== undefined && left[0].startedAt > one.startedAt) merged.push(left.shift()!.summary);
    merged.push(one);
  }
  return [...merged, ...left.map(({ summary }) => summary)];
};

/** Of a disk without heads files, what a row says of its own log is all that is known. */
export const summariseRows = (rows: readonly RunRow[], owners: Owners): readonly RunSummary[] =>
  rows.map((row) => summaryOrDamaged(row, owners, []));

const summaryOrDamaged = (row: RunRow, owners: Owners, heads: readonly HeadsFile[]): RunSummary =>
  hasLostEnd(row, heads) ? damagedFrom(row.run, extractFacts(row)) : summariseRun(row, owners);

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

const damagedFrom = (run: RunId, facts: RunFacts): RunSummary => ({ run, ...facts, state: 'damaged', owner: null });

/** A run that the list has lost, with what its first frame says. */
export const damagedSummary = (run: RunId, first: FrameRow | undefined): RunSummary =>
  damagedFrom(run, { ...readFacts(first), cells: 0 });

const hasLostEnd = ({ run, tails }: RunRow, heads: readonly HeadsFile[]): boolean => {
  const acknowledged = findAcknowledgedHeads(heads, run);
  if (tails?.listed === undefined) return false;
  const { listed, last } = tails;
  if (acknowledged.problems.length > 0 || last?.no !== listed.no || last.hash !== listed.hash) return true;
  return acknowledged.tails.some(({ no, hash }) => no > listed.no || (no === listed.no && hash !== listed.hash));
};

/** Empty when frames are unreadable; then only the list can name the runs. */
const readRunsWithFrames = (rows: LogRows, some?: Parameters<LogRows['runs']>[0]): readonly RunId[] => {
  try {
    return rows.runs(some);
  } catch (error) {
    const failure = storeError(error, 'store_unreadable');
    if (failure.code !== 'store_damaged') throw failure;
    return [];
  }
};

type RunSources = {
  readonly heads: readonly HeadsFile[];
  readonly listed: readonly RunRow[];
  readonly candidates: readonly RunId[];
};

type DatedSummary = { readonly startedAt: number; readonly summary: RunSummary };

/** Those candidates that are missing from the list. */
const lostRuns = (rows: LogRows, { heads, listed, candidates }: RunSources): readonly DatedSummary[] => {
  const known = new Set(listed.map(({ run }) => run));
  const unknown = [...new Set(candidates)].filter(
    (run) => run !== workspaceLogName && !known.has(run) && rows.deletion?.(run) === undefined,
  );
  if (unknown.length === 0) return [];
  const unlisted = new Set(unknown);
  for (const { run } of rows.list({ runs: unknown })) unlisted.delete(run);
  if (unlisted.size === 0) return [];
  const claimed = heads.flatMap((file) => [...file.heads.tails.keys()]);
  const bounds = latestStarts(heads, new Map(rows.list({ runs: claimed }).map((row) => [row.run, row])));
  // Of runs with the same bound, those that a file names last are the newest.
  const newestFirst = [...new Set([...bounds.keys(), ...unlisted])].filter((run) => unlisted.has(run));
  return newestFirst.map((run) => {
    const facts = { ...readFirstFacts(rows, run), cells: 0 };
    const startedAt = facts.startedAt === 0 ? (bounds.get(run) ?? 0) : facts.startedAt;
    return { startedAt, summary: damagedFrom(run, facts) };
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
    return readFacts(rows.chunk?.(run, 0, 1)[0]);
  } catch {
    return noFacts;
  }
};

const readFacts = (first: FrameRow | undefined): RunFacts => {
  try {
    return first?.no === 0 ? foldFacts(noFacts, JSON.parse(String(first.body)) as Frame) : noFacts;
  } catch {
    return noFacts;
  }
};
