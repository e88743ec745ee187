// What all trials share: their context, their findings, and how they go through their cases.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subject } from './build-subject.ts';

export type TrialContext = {
  readonly seed: number;
  readonly subject: Subject;
  /** Folder for bundles of modified sources. */
  readonly scratch: string;
  /** The checkout with the sources. */
  readonly source: string;
  /** Epoch milliseconds; no case starts after it. */
  readonly until: number;
  /** Run only this case. */
  readonly case: string | null;
  readonly processes: number;
  /** The command that runs the same case again. */
  readonly rerunCommand: (name: string) => string;
  /** Prints a finding immediately; the trial continues. */
  readonly report: (finding: Finding) => void;
  /** Shows progress. */
  readonly progress: (text: string) => void;
};

export type Finding = {
  readonly what: string;
  readonly details: readonly string[];
  /** The command that runs it again. */
  readonly rerun: string;
  /** The folder that was kept for inspection. */
  readonly folder?: string;
};

export type TrialReport = {
  /** Summary lines with figures. */
  readonly lines: readonly string[];
  /** Why the trial did not run at all. */
  readonly skipped?: string;
};

export type Trial = {
  readonly name: string;
  readonly about: string;
  /** The trial must end before this fraction of the lane's total time. */
  readonly deadlineFraction: number;
  readonly needsStrace: boolean;
  run(context: TrialContext): Promise<TrialReport>;
};

/** Runs several cases in parallel until the time is up; returns how many ran. A case that throws is a bug in the lane. */
export const forEachCase = async <T>(
  cases: readonly T[],
  { processes, until, progress }: Pick<TrialContext, 'processes' | 'until' | 'progress'>,
  tryOne: (one: T) => Promise<void>,
): Promise<number> => {
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    while (next < cases.length && Date.now() < until) {
      await tryOne(cases[next++]!);
      done += 1;
      progress(`${done} of ${cases.length}`);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  return done;
};

/** Runs a case in its own folder. The folder is kept if the case finds a problem. */
export const inCaseFolder = async (
  work: (folder: string) => Promise<readonly string[]>,
): Promise<{ readonly problems: readonly string[]; readonly folder: string }> => {
  const folder = createTempFolder();
  const problems = await work(folder);
  if (problems.length === 0) removeFolder(folder);
  else inUse.delete(folder);
  return { problems, folder };
};

/** Runs `work` in a temporary folder. */
export const withTempFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = createTempFolder();
  try {
    return await work(folder);
  } finally {
    removeFolder(folder);
  }
};

/** Folders of running cases; removed when the process exits. */
const inUse = new Set<string>();
process.on('exit', () => inUse.forEach(removeFolder));

export const createTempFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-deep-'));
  inUse.add(folder);
  return folder;
};

export const removeFolder = (folder: string): void => {
  inUse.delete(folder);
  rmSync(folder, { recursive: true, force: true });
};
