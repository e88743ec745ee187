// Reads the stored log: turns rows into checked frames and summaries.
import { CloisterError, sha256 } from '#base';
import type { Hash, RunId } from '#base';
import type { Frame, LogPage, WorkspaceEntry, RunSummary, RunQuery, SharedValue, Signal, Tombstone } from '#contracts';
import { workspaceLogName, checkWorkspaceLog, emptyWorkspaceLog } from './workspace-log.ts';
import type { CheckedWorkspaceLog } from './workspace-log.ts';
import { ChainCheck, checkChain, noTail } from './chain.ts';
import type { FrameRow, Tail } from './chain.ts';
import { listStoredRuns } from './list-runs.ts';
import { describeTombstone } from './describe-tombstone.ts';
import type { LogRows } from './log-rows.ts';
import type { Owners } from './processes.ts';
import { parseShared } from './shared-values.ts';
import { parseSignal } from './signals.ts';
import { storeError } from './store-error.ts';

export type LogReader = {
  check(): void;
  /** Throws `run_unknown`, or `run_format` for a run that this build cannot read. */
  inspect(run: RunId): LogPage;
  /** Like `inspect`, page by page; other work can run in each pause. */
  pages(run: RunId, pause: () => Promise<void>): AsyncGenerator<LogPage, void, undefined>;
  list(query?: RunQuery): readonly RunSummary[];
  /** Throws `run_unknown`; `checkpoint_invalid` when it has fewer frames. */
  hashPrefix(run: RunId, frames?: number): { readonly frames: number; readonly hash: Hash };
  /** Each record is checked once, and returned as it was then. Throws `store_damaged`. */
  readWorkspaceLog(): readonly WorkspaceEntry[];
  /** Throws `file_missing`. */
  getBlob(ref: string): Uint8Array;
  /** What is left of a deleted run; null if it was not deleted. */
  tombstone(run: RunId): Tombstone | null;
  /** Throws `store_damaged`. */
  signals(run?: RunId): readonly Signal[];
  /** Throws `store_damaged`. */
  shared(key: string): SharedValue;
  /**
   * Some of the frames from number `from` on, in order; none if there are none yet. `before`: the tail in front of them, if it is known.
   * Throws `run_unknown`, `run_format`, or `store_damaged` for a changed record.
   */
  newer(run: RunId, from: number, before?: Tail): NewerFrames | Promise<NewerFrames>;
  close(): void;
};

/** `tail`: that of the last frame. */
export type NewerFrames = { readonly frames: readonly Frame[]; readonly tail?: Tail | undefined };

type MayAnswerLater<F> = F extends (...args: infer A) => infer R ? (...args: A) => R | Promise<Awaited<R>> : never;

/** What a store asks of a log. A database of this machine answers at once, others later. */
export type StoreReader = Pick<LogReader, 'pages' | 'newer'> & {
  readonly [
    K in 'list' | 'hashPrefix' | 'readWorkspaceLog' | 'getBlob' | 'tombstone' | 'signals' | 'shared' | 'close'
  ]: MayAnswerLater<LogReader[K]>;
};

export const openLogReader = (rows: LogRows, owners: Owners): LogReader => ({
  check: () => rows.check(),
  inspect: (run) => inspectAll(rows, run),
  pages: (run, pause) => readPages(rows, run, pause),
  list: (query) => listStoredRuns(rows, owners, query),
  hashPrefix: (run, frames) => hashPrefixOf(rows, run, frames),
  readWorkspaceLog: openWorkspaceLogReader(rows),
  getBlob(ref) {
    const bytes = rows.blob(ref);
    if (bytes === undefined) throw new CloisterError('file_missing', ref);
    if (sha256(bytes) !== ref) throw new CloisterError('store_damaged', `blob ${ref} is damaged`);
    return bytes;
  },
  tombstone: (run) => readTombstone(rows, run),
  signals: (run) => rows.signals(run).map(parseSignal),
  shared: (key) => parseShared(key, rows.shared(key)),
  newer: (run, from, before) => readNewer(rows, run, from, before),
  close: () => rows.close(),
});

const inspectAll = (rows: LogRows, run: RunId): LogPage => {
  const { frames, problems, listed } = inspectLog(rows, run);
  return { frames, problems: listed ? problems : [...problems, unlistedProblem(run)] };
};

/** All pages of a log as one. */
export const joinPages = async (pages: AsyncIterable<LogPage>): Promise<LogPage> => {
  const [frames, problems]: [Frame[], string[]] = [[], []];
  for await (const page of pages) {
    for (const frame of page.frames) frames.push(frame);
    problems.push(...page.problems);
  }
  return { frames, problems };
};

/** A chunk ends with whichever comes first: a long log may have many frames, or few with megabytes of text. */
const [chunkFrames, chunkChars] = [250, 1_000_000];

/** Stored frames do not change, so a snapshot can be read in chunks. A log that cannot be read so is read in one go, which tells why. */
async function* readPages(
  rows: LogRows,
  run: RunId,
  pause: () => Promise<void>,
): AsyncGenerator<LogPage, void, undefined> {
  // Read before the rows, because heads recorded meanwhile may not be among them.
  const acknowledged = rows.acknowledged?.(run) ?? { tails: [], problems: [] };
  const { last, listed } = rows.tails?.(run) ?? {};
  if (typeof last?.no !== 'number') return yield inspectAll(rows, run);
  const check = new ChainCheck(run, acknowledged.tails);
  const told = { frames: 0, problems: new Set<string>() };
  // From below 0, because a record with an impossible number is a problem too.
  for (let from = Number.MIN_SAFE_INTEGER; from <= last.no;) {
    const chunk = readChunk(rows, run, from, last.no);
    const next = Number(chunk.at(-1)?.no) + 1;
    // Also if the run was deleted meanwhile.
    if (!(next > from)) return yield restOf(inspectAll(rows, run), told);
    for (const row of chunk) check.add(row);
    const page = check.take();
    told.frames += page.frames.length;
    for (const problem of page.problems) told.problems.add(problem);
    yield page;
    from = next;
    // Also after the last chunk, because whoever reads a long log has work to do with it.
    if (from <= last.no || chunk.length < from) await pause();
  }
  const { problems } = check.finish(listed);
  const unlisted = listed === undefined ? [unlistedProblem(run)] : [];
  yield { frames: [], problems: [...problems, ...acknowledged.problems, ...unlisted] };
}

const restOf = (
  { frames, problems }: LogPage,
  told: { readonly frames: number; readonly problems: ReadonlySet<string> },
): LogPage => ({
  frames: frames.slice(told.frames),
  problems: problems.filter((problem) => !told.problems.has(problem)),
});

/** Unreadable frames count as missing; reading the whole log tells why. */
const readChunk = (rows: LogRows, run: RunId, from: number, last: number): readonly FrameRow[] => {
  try {
    return rows.chunk?.(run, from, Math.min(chunkFrames, last + 1 - from), chunkChars) ?? [];
  } catch (error) {
    const failure = storeError(error, 'store_unreadable');
    if (failure.code !== 'store_damaged') throw failure;
    return [];
  }
};

const readNewer = (rows: LogRows, run: RunId, from: number, before: Tail | undefined): NewerFrames => {
  const last = rows.tailAt(run);
  if (last === undefined) {
    refuseDeleted(rows, run);
    throw new CloisterError('run_unknown', run);
  }
  // Whoever begins in the middle hears from the first frame whether this build can read the run.
  if (before === undefined && from > 0) readRows(rows, run, { from: 0, count: 1, before: noTail });
  if (last.no < from) return { frames: [], tail: before };
  const tail = before ?? (from === 0 ? noTail : rows.tailAt(run, from)) ?? { no: from - 1, hash: '' };
  return readRows(rows, run, { from, count: chunkFrames, before: tail });
};

type RowRange = { readonly from: number; readonly count: number; readonly before: Tail };

const readRows = (rows: LogRows, run: RunId, { from, count, before }: RowRange): NewerFrames => {
  const chunk =
    rows.chunk?.(run, from, count, chunkChars) ??
    rows.log(run, (all) => [...all].filter(({ no }) => Number(no) >= from).slice(0, count));
  const check = new ChainCheck(run, [], before);
  for (const row of chunk) check.add(row);
  const { frames, problems } = check.take();
  if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
  const last = chunk.at(-1);
  return { frames, tail: last === undefined ? before : { no: Number(last.no), hash: String(last.hash) } };
};

const openWorkspaceLogReader = (rows: LogRows): (() => readonly WorkspaceEntry[]) => {
  let checked: CheckedWorkspaceLog = emptyWorkspaceLog;
  return () => {
    const acknowledged = rows.acknowledged?.(workspaceLogName) ?? { tails: [], problems: [] };
    if (acknowledged.problems.length > 0) throw new CloisterError('store_damaged', acknowledged.problems.join('; '));
    checked =
      rows.workspaceLog(Math.max(checked.tail.no, 0), (records, end) => {
        const [last, ...newer] = records;
        const isContinued =
          checked !== emptyWorkspaceLog && last?.no === checked.tail.no && last.hash === checked.tail.hash;
        return isContinued ? checkWorkspaceLog(newer, end, acknowledged.tails, checked) : undefined;
      }) ?? rows.workspaceLog(0, (records, end) => checkWorkspaceLog(records, end, acknowledged.tails));
    return checked.entries;
  };
};

const hashPrefixOf = (rows: LogRows, run: RunId, frames: number | undefined) => {
  const found = rows.tailAt(run, frames);
  if (found !== undefined) return { frames: found.no + 1, hash: found.hash as Hash };
  const all = frames === undefined ? undefined : rows.tailAt(run);
  if (all === undefined) throw new CloisterError('run_unknown', run);
  throw prefixLengthError(run, all.no + 1, frames);
};

export const prefixLengthError = (run: RunId, available: number, frames: number | undefined): CloisterError =>
  new CloisterError('checkpoint_invalid', `Run ${run} has ${available} frames; ${frames} were requested.`);

/** `listed` is false when nothing records how long the log was. */
export const inspectLog = (rows: LogRows, run: RunId): LogPage & { readonly listed: boolean } => {
  // A foreign database is not damage to this run, so it throws here.
  rows.check();
  // Read before the rows, because heads recorded meanwhile may not be among them.
  const acknowledged = rows.acknowledged?.(run) ?? { tails: [], problems: [] };
  try {
    const found = rows.log(run, (log, end) => ({
      ...checkChain(run, log, end, acknowledged.tails),
      listed: end !== undefined,
    }));
    // Of a deleted run, nothing is missing.
    if (!found.listed && found.frames.length === 0) refuseDeleted(rows, run);
    const problems = [...found.problems, ...acknowledged.problems];
    // When no frame is left, the heads already report that.
    const listed = found.listed || found.frames.length === 0;
    if (found.listed || found.frames.length + problems.length > 0) return { ...found, problems, listed };
  } catch (error) {
    const failure = storeError(error, 'store_unreadable');
    if (failure.code !== 'store_damaged') throw failure;
    const problems = [`run ${run} cannot be read: ${failure.failure.detail ?? ''}`];
    return { frames: [], problems, listed: true };
  }
  throw new CloisterError('run_unknown', run);
};

const readTombstone = (rows: LogRows, run: RunId): Tombstone | null => parseTombstone(run, rows.deletion?.(run));

/** `record`: the record of the workspace log that says so; undefined if the run was not deleted. Throws `store_damaged`. */
export const parseTombstone = (run: RunId, record: string | undefined): Tombstone | null => {
  if (record === undefined) return null;
  try {
    const { tombstone } = (JSON.parse(record) as { record: { tombstone?: Tombstone } }).record;
    if (tombstone?.run === run) return tombstone;
  } catch {
    // Reported below.
  }
  throw new CloisterError('store_damaged', `the record that says that run ${run} was deleted is damaged`);
};

/** Throws `run_unknown`. */
const refuseDeleted = (rows: LogRows, run: RunId): void => {
  const tombstone = readTombstone(rows, run);
  if (tombstone !== null) throw new CloisterError('run_unknown', describeTombstone(tombstone));
};

export const unlistedProblem = (run: RunId): string =>
  `run ${run} is missing from the list of runs: frames at its end may be missing too`;
