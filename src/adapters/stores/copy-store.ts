// Copies everything in a store into an empty one, byte for byte.
//
//   copy-checks-every-record. The chain of each log is checked as it is copied, up to the end that was acknowledged; a damaged one ends the copy.
//   copy-all-or-nothing. The target gets everything in one transaction, or stays empty.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { ChainCheck, noTail } from './chain.ts';
import type { FrameRow, Tail } from './chain.ts';
import type { SignalRow } from './messages.ts';
import { foldFactsInText, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { checkWorkspaceLog } from './workspace-log.ts';

export type StoredText = { readonly no: number; readonly body: string; readonly hash: string };

export type DeletedRun = { readonly run: RunId; readonly no: number; readonly pending: string | null };

/** As of one moment. */
export type CopySource = {
  /** The records of the workspace log, and its end if that is stored. */
  workspaceLog(): Promise<{ readonly rows: readonly FrameRow[]; readonly end: Tail | undefined }>;
  /** What was acknowledged besides: of a run, or of the workspace log. */
  acknowledged(run: RunId | null): readonly Tail[];
  deleted(): Promise<readonly DeletedRun[]>;
  /** In the order in which they began, each with the end that its entry says; and those that somebody is working on. */
  runs(): Promise<{
    readonly ends: ReadonlyMap<RunId, Tail>;
    readonly unlisted: readonly RunId[];
    readonly live: readonly RunId[];
  }>;
  frames(run: RunId): AsyncIterable<readonly FrameRow[]>;
  blobs(): AsyncIterable<{ readonly ref: string; readonly bytes: Uint8Array }>;
  signals(): Promise<readonly SignalRow[]>;
  close(): Promise<void>;
};

export type CopyTarget = {
  /** Begins the transaction. Throws `options_invalid` if there is anything in it. */
  begin(): Promise<void>;
  addRecord(record: StoredText): Promise<void>;
  addDeleted(run: DeletedRun): Promise<void>;
  addFrames(run: RunId, frames: readonly StoredText[]): Promise<void>;
  /** After its frames. */
  addRun(run: RunId, facts: RunFacts, end: Tail): Promise<void>;
  addBlob(ref: string, bytes: Uint8Array): Promise<void>;
  addSignal(signal: SignalRow): Promise<void>;
  /** The end of each run, as it can be read now. */
  ends(): Promise<ReadonlyMap<RunId, Tail>>;
  commit(): Promise<void>;
  /** After `commit`, or to undo everything. */
  close(): Promise<void>;
};

type CopyCounts = {
  readonly runs: number;
  readonly frames: number;
  readonly blobs: number;
  readonly records: number;
  readonly tombstones: number;
  readonly signals: number;
};

/** Throws `store_damaged`, `run_owned`, and `options_invalid` if the target is not empty. */
export const copyStore = async (source: CopySource, target: CopyTarget): Promise<CopyCounts> => {
  const { ends, unlisted, live } = await source.runs();
  const [busy] = live;
  if (busy !== undefined)
    throw new CloisterError(
      'run_owned',
      `A process is working on run ${busy}. Stop everything that uses the source first.`,
    );
  if (unlisted.length > 0)
    throw new CloisterError(
      'store_damaged',
      `the list of runs has lost ${unlisted.length} runs, such as ${unlisted[0]}: repair it with \`cloister rebuild\``,
    );
  await target.begin();
  const records = await copyWorkspaceLog(source, target);
  const deleted = await source.deleted();
  for (const one of deleted) await target.addDeleted(one);
  let frames = 0;
  for (const [run, end] of ends) frames += await copyRun(source, target, { run, end });
  let blobs = 0;
  for await (const { ref, bytes } of source.blobs()) {
    await target.addBlob(ref, bytes);
    blobs++;
  }
  const signals = await source.signals();
  for (const signal of signals) await target.addSignal(signal);
  checkEnds(ends, await target.ends());
  await target.commit();
  return { runs: ends.size, frames, blobs, records, tombstones: deleted.length, signals: signals.length };
};

const copyWorkspaceLog = async (source: CopySource, target: CopyTarget): Promise<number> => {
  const { rows, end } = await source.workspaceLog();
  checkWorkspaceLog(rows, end, source.acknowledged(null));
  for (const row of rows) await target.addRecord(storedText(row));
  return rows.length;
};

const copyRun = async (
  source: CopySource,
  target: CopyTarget,
  { run, end }: { readonly run: RunId; readonly end: Tail },
): Promise<number> => {
  const check = new ChainCheck(run, source.acknowledged(run));
  let [facts, tail] = [noFacts, noTail];
  for await (const rows of source.frames(run)) {
    for (const row of rows) check.add(row);
    refuseDamage(check.take().problems);
    const texts = rows.map(storedText);
    for (const { body } of texts) facts = foldFactsInText(facts, body);
    tail = texts.at(-1) ?? tail;
    await target.addFrames(run, texts);
  }
  refuseDamage(check.finish(end).problems);
  await target.addRun(run, facts, { no: tail.no, hash: tail.hash });
  return tail.no + 1;
};

const refuseDamage = (problems: readonly string[]): void => {
  if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
};

/** Checked before. */
const storedText = ({ no, body, hash }: FrameRow): StoredText => ({
  no: Number(no),
  body: String(body),
  hash: String(hash),
});

const checkEnds = (expected: ReadonlyMap<RunId, Tail>, found: ReadonlyMap<RunId, Tail>): void => {
  for (const [run, { no, hash }] of expected) {
    const copied = found.get(run);
    if (copied?.no !== no || copied.hash !== hash)
      throw new CloisterError('store_damaged', `run ${run} is not the same in the copy`);
  }
};

export const notEmpty = (where: string): CloisterError =>
  new CloisterError('options_invalid', `to: ${where} is not empty. A copy needs a place of its own.`);
