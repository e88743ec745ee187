// The list of runs: what it says itself, and what is known of runs that it has lost.
//
//   L1. Only ends are compared with ends: how long a log is makes no difference.
//   L2. What is known by other means is looked at before the list: a run that begins meanwhile is no lost one.
import type { RunId } from '#base';
import type { Frame, RunSummary, RunQuery } from '#contracts';
import { workspaceLogName } from './workspace-log.ts';
import { notedOf } from './heads-folder.ts';
import type { HeadsFile } from './heads-folder.ts';
import type { LogRows, RunRow } from './log-rows.ts';
import type { Owners } from './owner.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { storeError } from './store-error.ts';

/** Newest first; some, or all. */
export const listStoredRuns = (rows: LogRows, owners: Owners, which?: RunQuery): readonly RunSummary[] => {
  const heads = rows.heads?.();
  if (heads === undefined) return rows.list(which).map((row) => summaryOf(row, owners));
  if (which === undefined) return listAll(rows, owners, heads);
  return 'caller' in which
    ? rows.list(which).map((row) => keptSummary(row, owners, heads))
    : listSome(rows, owners, { heads, ...which });
};

/** Only when one of them is missing in the list, all are looked at. */
const listSome = (
  rows: LogRows,
  owners: Owners,
  { heads, runs }: { readonly heads: readonly HeadsFile[]; readonly runs: readonly RunId[] },
): readonly RunSummary[] => {
  const found = rows.list({ runs });
  const listed = new Set(found.map(({ run }) => run));
  const isLost = (run: RunId): boolean =>
    !listed.has(run) && (notedOf(heads, run).ends.length > 0 || rows.cut(run) !== undefined);
  if (!runs.some(isLost)) return found.map((row) => keptSummary(row, owners, heads));
  const asked = new Set(runs);
  return listAll(rows, owners, heads).filter(({ run }) => asked.has(run));
};

const keptSummary = (row: RunRow, owners: Owners, heads: readonly HeadsFile[]): RunSummary =>
  hasLostEnd(row, heads) ? damaged(row.run, factsOf(row)) : summaryOf(row, owners);

const listAll = (rows: LogRows, owners: Owners, heads: readonly HeadsFile[]): readonly RunSummary[] => {
  const known = withFrames(rows);
  const listed = new Map(rows.list().map((row) => [row.run, row]));
  const lost = lostRuns(rows, { heads, known, listed });
  const kept = [...listed.values()].map((row) => ({
    startedAt: row.startedAt,
    summary: keptSummary(row, owners, heads),
  }));
  return [...lost, ...kept].sort((one, other) => other.startedAt - one.startedAt).map(({ summary }) => summary);
};

const summaryOf = (row: RunRow, owners: Owners): RunSummary => {
  const { run, owner } = row;
  const facts = factsOf(row);
  if (facts.endedAt !== null) return { run, ...facts, state: 'ended', owner: null };
  if (owner === null || !owners.lives(owner)) return { run, ...facts, state: 'interrupted', owner: null };
  const running = { run, ...facts, state: 'running', owner: owners.inWords(owner) } as const;
  return owners.elsewhere?.(owner) === true ? { ...running, elsewhere: true } : running;
};

const factsOf = ({ agent, goal, startedAt, endedAt, status, cells, caller, spent }: RunRow): RunFacts => ({
  agent,
  goal,
  startedAt,
  endedAt,
  status,
  cells,
  caller,
  spent,
});

const damaged = (run: RunId, facts: RunFacts): RunSummary => ({ run, ...facts, state: 'damaged', owner: null });

const hasLostEnd = ({ run, ends }: RunRow, heads: readonly HeadsFile[]): boolean => {
  const noted = notedOf(heads, run);
  if (ends?.listed === undefined) return false;
  const { listed, last } = ends;
  if (noted.problems.length > 0 || last?.no !== listed.no || last.hash !== listed.hash) return true;
  return noted.ends.some(({ no, hash }) => no > listed.no || (no === listed.no && hash !== listed.hash));
};

/** Where frames cannot be read, the list has to say it. */
const withFrames = (rows: LogRows): readonly RunId[] => {
  try {
    return rows.runs();
  } catch (error) {
    const failure = storeError(error);
    if (failure.code !== 'store_damaged') throw failure;
    return [];
  }
};

type Known = {
  readonly heads: readonly HeadsFile[];
  readonly known: readonly RunId[];
  readonly listed: ReadonlyMap<RunId, RunRow>;
};

type Placed = { readonly startedAt: number; readonly summary: RunSummary };

/** Runs that have frames, or were noted, and are missing in the list. */
const lostRuns = (rows: LogRows, { heads, known, listed }: Known): readonly Placed[] => {
  const bounds = startsOf(heads, listed);
  const lost = new Set([...bounds.keys(), ...known]);
  return [...lost]
    .filter((run) => run !== workspaceLogName && !listed.has(run))
    .map((run) => {
      const facts = { ...firstFacts(rows, run), cells: 0 };
      const startedAt = facts.startedAt === 0 ? (bounds.get(run) ?? 0) : facts.startedAt;
      return { startedAt, summary: damaged(run, facts) };
    });
};

/**
 * When runs that were noted began, at the latest: runs stand in a file in the order in which they were first noted. The newest
 * come first.
 */
const startsOf = (heads: readonly HeadsFile[], listed: ReadonlyMap<RunId, RunRow>): ReadonlyMap<RunId, number> => {
  const starts = new Map<RunId, number>();
  for (const { heads: noted, changedAt } of heads) {
    let latest = changedAt;
    for (const run of [...noted.ends.keys()].toReversed()) {
      const row = listed.get(run);
      if (row === undefined) starts.set(run, Math.max(latest, starts.get(run) ?? 0));
      // Those before it came earlier. One that was resumed may have begun before the file did.
      else latest = Math.min(latest, Math.max(row.startedAt, noted.owner?.since ?? 0) - 1);
    }
  }
  return starts;
};

/** What the first frame says, if it is there. */
const firstFacts = (rows: LogRows, run: RunId): RunFacts => {
  try {
    const [first] = rows.piece?.(run, 0, 1) ?? [];
    return first?.no === 0 ? foldFacts(noFacts, JSON.parse(String(first.body)) as Frame) : noFacts;
  } catch {
    return noFacts;
  }
};
