// What other processes have committed to the database. SQLite tells nobody, so it is asked: in one timer, quickly while runs are followed.
//
//   changes-not-missed. Whatever is committed after a watcher was added wakes it. It may be woken for nothing.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { RunId } from '#base';
import { hasSignals } from './database.ts';
import type { WatchFrames } from './frame-followers.ts';

/** What has changed since the last call; `runs`: null if frames of any run may have come or gone. */
type Changes = { readonly signals: boolean; readonly takeOvers: boolean; readonly runs: readonly RunId[] | null };

/** Undefined: nothing has changed. `framesToo`: also look for frames. */
export type ReadChanges = (framesToo: boolean) => Changes | undefined;

type Watches = {
  watchSignals(notify: () => void): () => void;
  /** A run may have been taken from an owner that is alive. */
  watchTakeOvers(notify: () => void): () => void;
  readonly watchFrames: WatchFrames;
};

/** In real time, whatever clock the runs have: others write in real time. */
export const pollChanges = (read: ReadChanges): Watches => {
  const [signals, takeOvers] = [new Set<() => void>(), new Set<() => void>()];
  const frames = new Set<(run: RunId | null) => void>();
  let timer: NodeJS.Timeout | undefined;

  const poll = (): void => {
    const found = changesOrNone(read, frames.size > 0);
    if (found?.signals === true) for (const notify of signals) notify();
    if (found?.takeOvers === true) for (const notify of takeOvers) notify();
    if (found !== undefined) for (const run of found.runs ?? [null]) for (const notify of frames) notify(run);
  };
  const setTimer = (): void => {
    clearInterval(timer);
    timer = undefined;
    // The process may end although signals are watched, but not while somebody waits for frames.
    if (frames.size > 0) timer = setInterval(poll, framesPollMs);
    else if (signals.size > 0) timer = setInterval(poll, signalPollMs).unref();
    else if (takeOvers.size > 0) timer = setInterval(poll, takeOverPollMs).unref();
  };
  const add = <T>(set: Set<T>, notify: T): (() => void) => {
    set.add(notify);
    // What is there already counts as seen.
    if (set.size === 1) changesOrNone(read, frames.size > 0);
    setTimer();
    return () => {
      set.delete(notify);
      setTimer();
    };
  };
  return {
    watchSignals: (notify) => add(signals, notify),
    watchTakeOvers: (notify) => add(takeOvers, notify),
    watchFrames: (notify) => add(frames, notify),
  };
};

/** Below 100, so that a signal is noticed within that time. */
const signalPollMs = 80;

/** Whoever lost a run may be in the middle of a long model request, and would notice only with its next record. */
const takeOverPollMs = 500;

/** Somebody waits for what an agent says in another process. */
const framesPollMs = 10;

/** An unreadable database is read again next time. */
const changesOrNone = (read: ReadChanges, framesToo: boolean): Changes | undefined => {
  try {
    return read(framesToo);
  } catch {
    return undefined;
  }
};

type Reading = {
  readonly database: DatabaseSync;
  readonly versionOf: StatementSync;
  readonly version: unknown;
  readonly frames: FramesSeen | undefined;
};

/** The newest row, and the end of the workspace log, which names every run that was deleted. */
type FramesSeen = { readonly row: number; readonly records: unknown };

export const openChangesReader = (): ((database: DatabaseSync, framesToo: boolean) => Changes | undefined) => {
  let last: Reading | undefined;
  let [newestSignal, newestTakeOver] = [0, 0];
  return (database, framesToo) => {
    const known = last?.database === database ? last : undefined;
    const versionOf = known?.versionOf ?? database.prepare('PRAGMA data_version');
    // It changes with each commit of another connection, and the writer has a connection of its own.
    const version = versionOf.get()?.['data_version'];
    if (known?.version === version && (known?.frames !== undefined || !framesToo)) return undefined;
    const newest = readNewestSignal(database);
    const seen = framesToo ? readFramesSeen(database) : undefined;
    const runs = seen === undefined ? [] : runsSince(database, known?.frames, seen);
    const signals = newest !== newestSignal;
    newestSignal = newest;
    const taken = countTakeOvers(database);
    const takeOvers = taken !== newestTakeOver;
    newestTakeOver = taken;
    last = { database, versionOf, version, frames: seen };
    return { signals, takeOvers, runs };
  };
};

/** Its number is never used again, so it also changes if an older signal was removed. */
const readNewestSignal = (database: DatabaseSync): number => {
  if (!hasSignals(database)) return 0;
  return Number(database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'signals'").get()?.['seq'] ?? 0);
};

const countTakeOvers = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT value FROM meta WHERE key = 'take-overs'").get()?.['value'] ?? 0);

const readFramesSeen = (database: DatabaseSync): FramesSeen => ({
  row: Number(database.prepare('SELECT max(rowid) AS row FROM frames').get()?.['row'] ?? 0),
  records: database.prepare("SELECT value FROM meta WHERE key = 'book'").get()?.['value'],
});

/** Row numbers are used again after the newest rows were deleted, and may change when the database is compacted after that. */
const runsSince = (
  database: DatabaseSync,
  known: FramesSeen | undefined,
  seen: FramesSeen,
): readonly RunId[] | null => {
  if (known === undefined || known.records !== seen.records || seen.row < known.row) return null;
  const rows = database.prepare('SELECT DISTINCT run FROM frames WHERE rowid > ?').all(known.row);
  return rows.map(({ run }) => run as RunId);
};
