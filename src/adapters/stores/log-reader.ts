// What was kept, read back: rows become frames that were checked, and summaries.
import { CloisterError, sha256 } from '#base';
import type { Hash, RunId } from '#base';
import type { WorkspaceEntry, RunSummary, RunQuery } from '#contracts';
import { workspaceLogName, checkWorkspaceLog, emptyWorkspaceLog } from './workspace-log.ts';
import type { CheckedWorkspaceLog } from './workspace-log.ts';
import { ChainCheck, checkChain } from './chain.ts';
import type { CheckedLog, FrameRow } from './chain.ts';
import { listStoredRuns } from './list-runs.ts';
import type { LogRows } from './log-rows.ts';
import type { Owners } from './owner.ts';
import { storeError } from './store-error.ts';

export type LogReader = {
  check(): void;
  /** Throws `run_unknown`. */
  inspect(run: RunId): Pick<CheckedLog, 'frames' | 'problems'>;
  /** The same of a long log, without keeping others from their work: they get their turn in each pause. */
  inspectInPieces(run: RunId, pause: () => Promise<void>): Promise<Pick<CheckedLog, 'frames' | 'problems'>>;
  list(which?: RunQuery): readonly RunSummary[];
  /** Throws `run_unknown`; `checkpoint_invalid` when it has fewer frames. */
  cut(run: RunId, frames?: number): { readonly frames: number; readonly hash: Hash };
  /** Each page is checked once, and given as it was then. Throws `store_damaged`. */
  book(): readonly WorkspaceEntry[];
  /** Throws `file_missing`. */
  blob(ref: string): Uint8Array;
  close(): void;
};

export const openLogReader = (rows: LogRows, owners: Owners): LogReader => ({
  check: () => rows.check(),
  inspect: (run) => inspectAll(rows, run),
  inspectInPieces: async (run, pause) => (await readInPieces(rows, run, pause)) ?? inspectAll(rows, run),
  list: (which) => listStoredRuns(rows, owners, which),
  cut: (run, frames) => cutOf(rows, run, frames),
  book: openBook(rows),
  blob(ref) {
    const bytes = rows.blob(ref);
    if (bytes === undefined) throw new CloisterError('file_missing', ref);
    if (sha256(bytes) !== ref) throw new CloisterError('store_damaged', `blob ${ref} is not what was written`);
    return bytes;
  },
  close: () => rows.close(),
});

const inspectAll = (rows: LogRows, run: RunId): Pick<CheckedLog, 'frames' | 'problems'> => {
  const { frames, problems, listed } = inspectLog(rows, run);
  return { frames, problems: listed ? problems : [...problems, unlisted(run)] };
};

const framesAtOnce = 250;

/**
 * Frames that are there do not change, so those of one moment can be read bit by bit. Undefined for a short log, and for one
 * with anything wrong: then it is read as a whole, which finds the words for it.
 */
const readInPieces = async (
  rows: LogRows,
  run: RunId,
  pause: () => Promise<void>,
): Promise<Pick<CheckedLog, 'frames' | 'problems'> | undefined> => {
  if (rows.ends === undefined || rows.piece === undefined) return undefined;
  const noted = rows.noted?.(run) ?? { ends: [], problems: [] };
  const { last, listed } = rows.ends(run);
  if (last === undefined || listed?.no !== last.no || last.no < framesAtOnce || noted.problems.length > 0)
    return undefined;
  const check = new ChainCheck(run, noted.ends);
  for (let from = 0; from <= last.no; from += framesAtOnce) {
    if (from > 0) await pause();
    for (const row of pieceOf(rows, run, from, last.no)) check.add(row);
  }
  const found = check.found(listed);
  return found.problems.length === 0 ? found : undefined;
};

/** What cannot be read is missing; reading the whole says why. */
const pieceOf = (rows: LogRows, run: RunId, from: number, last: number): readonly FrameRow[] => {
  try {
    return rows.piece?.(run, from, Math.min(framesAtOnce, last + 1 - from)) ?? [];
  } catch (error) {
    const failure = storeError(error);
    if (failure.code !== 'store_damaged') throw failure;
    return [];
  }
};

const openBook = (rows: LogRows): (() => readonly WorkspaceEntry[]) => {
  let known: CheckedWorkspaceLog = emptyWorkspaceLog;
  return () => {
    const noted = rows.noted?.(workspaceLogName) ?? { ends: [], problems: [] };
    if (noted.problems.length > 0) throw new CloisterError('store_damaged', noted.problems.join('; '));
    known =
      rows.book(Math.max(known.tail.no, 0), (pages, end) => {
        const [last, ...newer] = pages;
        const goesOn = known !== emptyWorkspaceLog && last?.no === known.tail.no && last.hash === known.tail.hash;
        return goesOn ? checkWorkspaceLog(newer, end, noted.ends, known) : undefined;
      }) ?? rows.book(0, (pages, end) => checkWorkspaceLog(pages, end, noted.ends));
    return known.pages;
  };
};

const cutOf = (rows: LogRows, run: RunId, frames: number | undefined) => {
  const found = rows.cut(run, frames);
  if (found !== undefined) return { frames: found.no + 1, hash: found.hash as Hash };
  const all = frames === undefined ? undefined : rows.cut(run);
  if (all === undefined) throw new CloisterError('run_unknown', run);
  throw noSuchCut(run, all.no + 1, frames);
};

export const noSuchCut = (run: RunId, has: number, frames: number | undefined): CloisterError =>
  new CloisterError('checkpoint_invalid', `Run ${run} has ${has} frames, and not ${frames}.`);

/** `listed` is false when nothing says how long the log was. */
export const inspectLog = (rows: LogRows, run: RunId): CheckedLog & { readonly listed: boolean } => {
  // What is not ours at all is no damage to this run.
  rows.check();
  // Before the rows: what is noted while they are read may not be among them.
  const noted = rows.noted?.(run) ?? { ends: [], problems: [] };
  try {
    const found = rows.log(run, (log, end) => ({
      ...checkChain(run, log, end, noted.ends),
      listed: end !== undefined,
    }));
    const problems = [...found.problems, ...noted.problems];
    // When nothing is left, what is noted says so already.
    const listed = found.listed || found.frames.length === 0;
    if (found.listed || found.frames.length + problems.length > 0) return { ...found, problems, listed };
  } catch (error) {
    const failure = storeError(error);
    if (failure.code !== 'store_damaged') throw failure;
    const problems = [`run ${run} cannot be read: ${failure.failure.detail ?? ''}`];
    return { frames: [], problems, listed: true };
  }
  throw new CloisterError('run_unknown', run);
};

const unlisted = (run: RunId): string =>
  `run ${run} is missing in the list of runs: frames at its end may be missing too`;
