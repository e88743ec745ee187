// The store on disk: one database in a workspace folder, shared by any number of processes.
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import { openLogReader } from './log-reader.ts';
import { openLogStore } from './log-store.ts';
import type { LogStore } from './log-store.ts';
import type { InjectedFaults } from './messages.ts';
import { processOwners } from './processes.ts';
import { rebuild } from './rebuild-projections.ts';
import { openSqliteRows } from './sqlite-rows.ts';
import { startSqliteThread } from './sqlite-thread.ts';

export type SqliteOptions = {
  /** How long to wait while another process writes. */
  readonly busyTimeoutMs?: number;
  readonly faults?: InjectedFaults;
  /** The name and version of this program: the workspace says who created it and who wrote last. */
  readonly build?: string;
  /** Clock for records of the workspace log. */
  readonly now?: () => number;
};

export const createSqliteStore = async (folder: string, options: SqliteOptions = {}): Promise<LogStore> => {
  const { busyTimeoutMs = 10_000, faults = {}, now = Date.now, build = 'unknown' } = options;
  const path = resolve(folder);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new CloisterError('store_failed', `${folder} is not a folder.`);
  const reader = openLogReader(openSqliteRows(path, busyTimeoutMs), processOwners);
  reader.check();
  const setup = { folder: path, instance: randomUUID(), busyTimeoutMs, build, faults };
  return openLogStore({
    kind: 'sqlite',
    path,
    reader,
    startThread: (listener) => startSqliteThread(setup, listener),
    defer: setImmediate,
    now,
    rebuild: (run) => rebuild(path, build, run),
  });
};
