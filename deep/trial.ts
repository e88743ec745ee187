// What all trials share: what they are given, what they find, and how they go through their cases.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subject } from './build-subject.ts';

export type Setting = {
  readonly seed: number;
  readonly subject: Subject;
  /** Below it bundles of changed sources may be made. */
  readonly scratch: string;
  /** Where the sources are. */
  readonly source: string;
  /** Epoch milliseconds: no case begins after it. */
  readonly until: number;
  /** Only this one of its cases. */
  readonly case: string | null;
  readonly processes: number;
  /** How the same case is tried again. */
  readonly again: (name: string) => string;
  /** Told at once; the trial goes on. */
  readonly found: (found: Found) => void;
  /** Shows that it goes on. */
  readonly progress: (text: string) => void;
};

export type Found = {
  readonly what: string;
  readonly details: readonly string[];
  /** The command that tries it again. */
  readonly again: string;
  /** The folder that was left as it was. */
  readonly left?: string;
};

export type Report = {
  /** What was tried, in figures, a line each. */
  readonly tried: readonly string[];
  /** Why it was not tried at all. */
  readonly notTried?: string;
};

export type Trial = {
  readonly name: string;
  readonly about: string;
  /** What part of the minutes it may take, at the latest from the start of the lane. */
  readonly untilPart: number;
  readonly needsStrace: boolean;
  run(setting: Setting): Promise<Report>;
};

/** Several at once until the time is over; gives how many were done. A case that throws is a defect of the lane. */
export const eachCase = async <T>(
  cases: readonly T[],
  { processes, until, progress }: Pick<Setting, 'processes' | 'until' | 'progress'>,
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

/** A folder for one case. It stays if the case finds something. */
export const inFolder = async (
  work: (folder: string) => Promise<readonly string[]>,
): Promise<{ readonly problems: readonly string[]; readonly folder: string }> => {
  const folder = newFolder();
  const problems = await work(folder);
  if (problems.length === 0) remove(folder);
  else inUse.delete(folder);
  return { problems, folder };
};

/** A folder for a while. */
export const withFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = newFolder();
  try {
    return await work(folder);
  } finally {
    remove(folder);
  }
};

/** Folders of cases under way: they go with the process. */
const inUse = new Set<string>();
process.on('exit', () => inUse.forEach(remove));

export const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-deep-'));
  inUse.add(folder);
  return folder;
};

export const remove = (folder: string): void => {
  inUse.delete(folder);
  rmSync(folder, { recursive: true, force: true });
};
