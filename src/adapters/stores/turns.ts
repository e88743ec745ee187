// Turns of the processes that write to one database: who waits, comes before who has just written.
//
//   turns-next-in-line. One process at a time waits for the database, and asks for it often; all others wait to be the next. So a commit
//       is followed by another process's at once, and who has just committed does not come first again.
//   turns-only-order. Turns decide who comes first, nothing else: SQLite's own locks keep writers apart, and turns are skipped when they
//       cannot be had.
//   turns-end-with-process. Both are locks of the operating system, which a process that dies has no more.
//   turns-merge-alone. The write-ahead log is merged into the database (SQLite says: checkpointed) by the next in line, before its
//       transaction. Nobody else writes then, so all of it is merged, and it is written again from its beginning.
//
// SQLite waits by sleeping up to 100 ms, whoever is next: processes slept while the database was free, and some never got it. It merges the
// log after a commit, when the next process writes already: never all of it, so the log grew without end and each commit merged again.
import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { CloisterError } from '#base';
import { databasePath } from './database.ts';
import { isBusy } from './store-error.ts';

type Turns = {
  /** Begins a transaction that writes. Waits for other processes as long as one of them writes; otherwise throws `store_busy` in time. */
  begin(): void;
  close(): void;
};

type DatabaseOfTurns = {
  /** Its own busy timeout must be 0. */
  readonly database: DatabaseSync;
  readonly folder: string;
  /** How long to wait while nobody writes anything. */
  readonly busyTimeoutMs: number;
};

export const openTurns = ({ database, folder, busyTimeoutMs }: DatabaseOfTurns): Turns => {
  const line = openLine(folder);
  const log = openWriteAheadLog(database);
  const version = database.prepare('PRAGMA data_version');
  const readVersion = (): unknown => {
    try {
      return version.get()?.['data_version'];
    } catch {
      // It is busy; nothing is known.
      return undefined;
    }
  };

  return {
    begin() {
      const wait = new Wait(busyTimeoutMs, readVersion);
      const beginAsNext = (): void => {
        while (!tryBegin(database)) wait.pauseAsNext();
      };
      try {
        // A process that was stopped in the line keeps it: after a while, the database is asked for without a turn.
        while (!line.enter() && !wait.isStuck) wait.pauseInLine();
        const isLong = log.isLong();
        beginAsNext();
        if (!isLong) return;
        // It cannot be merged within a transaction. Whoever wrote before has committed, and all others are behind in the line.
        database.exec('ROLLBACK');
        log.merge();
        beginAsNext();
      } finally {
        line.leave();
      }
    },
    close: () => line.close(),
  };
};

/** The wait of one process: its pauses, and its end. */
class Wait {
  readonly #busyTimeoutMs: number;
  readonly #readVersion: () => unknown;
  readonly #from = performance.now();
  #version: unknown;
  /** When somebody was last seen to have written. */
  #writtenAt = this.#from;
  #lookedAt = this.#from;
  #pauseMs = shortestNextMs;

  constructor(busyTimeoutMs: number, readVersion: () => unknown) {
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#readVersion = readVersion;
    this.#version = readVersion();
  }

  /** The line does not move. */
  get isStuck(): boolean {
    const now = performance.now();
    return now - this.#writtenAt > Math.min(stuckMs, this.#busyTimeoutMs / 2) || now - this.#from > waitedMaxMs;
  }

  /**
   * Few processes come to their turn soon, so they ask often at first. Many would take the processor from each other by asking; but whoever
   * has waited long asks more often than others do. Random, so that those who began together do not ask together.
   */
  pauseInLine(): void {
    this.#look();
    const waited = performance.now() - this.#from;
    const usual = Math.min(longestMs, Math.max(shortestMs, waited / 8));
    pause((waited > agingMs ? usual / 4 : usual) * (0.5 + Math.random() / 2));
  }

  /** Nobody else asks, so it may ask often: while it sleeps, the database may be free. A process that holds it for long is asked less often. */
  pauseAsNext(): void {
    this.#checkTime();
    pause(this.#pauseMs);
    this.#pauseMs = Math.min(longestNextMs, this.#pauseMs * 1.1);
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#lookedAt < lookMs) return;
    this.#lookedAt = now;
    const version = this.#readVersion();
    if (version !== this.#version) [this.#version, this.#writtenAt] = [version, now];
  }

  #checkTime(): void {
    this.#look();
    const now = performance.now();
    const [waited, idle] = [now - this.#from, now - this.#writtenAt];
    if (idle <= this.#busyTimeoutMs && waited <= waitedMaxMs) return;
    const others =
      idle > this.#busyTimeoutMs
        ? `another process holds cloister.db, and has written nothing for ${seconds(idle)}`
        : 'other processes write to it all the time';
    throw new CloisterError('store_busy', `database is locked: waited ${seconds(waited)}; ${others}`);
  }
}

const [shortestMs, longestMs, shortestNextMs, longestNextMs] = [0.2, 50, 0.05, 2];

const [agingMs, stuckMs, lookMs] = [5_000, 2_000, 20];

/** Nobody waits longer, whatever others do. */
const waitedMaxMs = 600_000;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

const pause = (ms: number): void => void Atomics.wait(sleeper, 0, 0, ms);

/** False: another process writes. */
const tryBegin = (database: DatabaseSync): boolean => {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
};

type WriteAheadLog = {
  isLong(): boolean;
  /** Merges what has been committed, all of it unless somebody writes or reads an earlier state. */
  merge(): void;
};

const openWriteAheadLog = (database: DatabaseSync): WriteAheadLog => {
  database.exec('PRAGMA wal_autocheckpoint = 0');
  // Merges nothing, and says how many pages the log has.
  const measure = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const merge = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  return {
    isLong() {
      try {
        return Number(measure.get()?.['log']) >= logPagesMax;
      } catch {
        // It is busy, or damaged: the transaction will tell.
        return false;
      }
    },
    merge() {
      try {
        merge.get();
      } catch {
        // What is committed is in the log, and the next turn tries again.
      }
    },
  };
};

/** As SQLite has it by default. */
const logPagesMax = 1_000;

type Line = {
  /** True: this process is the next. */
  enter(): boolean;
  leave(): void;
  close(): void;
};

/**
 * The lock of an empty database beside the real one. If it cannot be made, everybody is next. Whoever closes removes it, so that a workspace
 * at rest is one file; others notice that with their next turn, and until then only the order may suffer.
 */
const openLine = (folder: string): Line => {
  const path = `${databasePath(folder)}-turns`;
  let lock: { readonly database: DatabaseSync; readonly inode: number | undefined } | undefined;
  let isNext = false;

  const inode = (): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
  const close = (): void => {
    lock?.database.close();
    lock = undefined;
  };
  const enter = (): boolean => {
    if (lock === undefined) {
      const database = new DatabaseSync(path, { timeout: 0 });
      lock = { database, inode: inode() };
      // Otherwise each turn would create and remove the file of a journal.
      database.exec('PRAGMA journal_mode = MEMORY');
    }
    // Looked at only now: whoever waits asks often.
    if (!tryBegin(lock.database)) return false;
    if (lock.inode === inode()) return true;
    close();
    return false;
  };

  return {
    enter() {
      if (isNext) return true;
      try {
        return (isNext = enter());
      } catch {
        return true;
      }
    },
    leave() {
      if (isNext) lock?.database.exec('ROLLBACK');
      isNext = false;
    },
    close() {
      if (lock === undefined) return;
      close();
      rmSync(path, { force: true });
    },
  };
};
