// What was kept, read back: rows become frames that were checked, and summaries.
import { CloisterError, sha256 } from '#base';
import type { RunId } from '#base';
import type { RunSummary } from '#contracts';
import { checkChain } from './chain.ts';
import type { Chain, FrameRow, Tail } from './chain.ts';
import type { Noted } from './heads-folder.ts';
import type { Owner, Owners } from './owner.ts';
import type { RunFacts } from './run-facts.ts';
import { storeError } from './store-error.ts';

/** One entry in the list of runs, and who has the run. */
export type RunRow = RunFacts & { readonly run: RunId; readonly owner: Owner | null };

/** What is committed, as it is there; nothing about it is taken for granted. */
export type LogRows = {
  /** Throws `store_damaged` when something is there that is not ours. */
  check(): void;
  /** The frames of a run in order of number, and the end that its entry in the list records: both of one moment. */
  log<T>(run: RunId, read: (rows: Iterable<FrameRow>, end: Tail | undefined) => T): T;
  /** What was acknowledged of a run, as it is noted elsewhere, if it is. */
  noted?(run: RunId): Noted;
  /** Newest first; of those that started together, the one that was listed last. */
  list(): readonly RunRow[];
  /** Every run that has frames, listed or not. */
  runs(): readonly RunId[];
  blob(ref: string): Uint8Array | undefined;
  close(): void;
};

export type LogReader = {
  check(): void;
  /** Throws `run_unknown`. */
  inspect(run: RunId): Pick<Chain, 'frames' | 'problems'>;
  list(): readonly RunSummary[];
  /** Throws `file_missing`. */
  blob(ref: string): Uint8Array;
  close(): void;
};

export const openLogReader = (rows: LogRows, owners: Owners): LogReader => ({
  check: () => rows.check(),
  inspect(run) {
    const { frames, problems, listed } = inspectLog(rows, run);
    return { frames, problems: listed ? problems : [...problems, unlisted(run)] };
  },
  list: () => rows.list().map((row) => summaryOf(row, owners)),
  blob(ref) {
    const bytes = rows.blob(ref);
    if (bytes === undefined) throw new CloisterError('file_missing', ref);
    if (sha256(bytes) !== ref) throw new CloisterError('store_damaged', `blob ${ref} is not what was written`);
    return bytes;
  },
  close: () => rows.close(),
});

/** `listed` is false when nothing says how long the log was. */
export const inspectLog = (rows: LogRows, run: RunId): Chain & { readonly listed: boolean } => {
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

const summaryOf = ({ owner, ...facts }: RunRow, owners: Owners): RunSummary => {
  if (facts.endedAt !== null) return { ...facts, state: 'ended', owner: null };
  return owner !== null && owners.lives(owner)
    ? { ...facts, state: 'running', owner: owners.inWords(owner) }
    : { ...facts, state: 'interrupted', owner: null };
};
