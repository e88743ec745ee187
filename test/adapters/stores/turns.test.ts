import { mkdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { databasePath, openForWriting } from '../../../src/adapters/stores/database.ts';
import { openTurns } from '../../../src/adapters/stores/turns.ts';

import { newFolder } from './fixture.ts';

const options = { busyTimeoutMs: 100, build: 'test' };

/** Another process: a connection of its own to the database, or to the line before it. */
const lockedBy = (path: string): DatabaseSync => {
  const other = new DatabaseSync(path, { timeout: 0 });
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  return other;
};

const open = (folder: string): { readonly database: DatabaseSync; readonly turns: ReturnType<typeof openTurns> } => {
  mkdirSync(folder, { recursive: true });
  const database = openForWriting(folder, options);
  database.exec('PRAGMA busy_timeout = 0');
  const turns = openTurns({ database, folder, busyTimeoutMs: options.busyTimeoutMs });
  onTestFinished(() => {
    turns.close();
    database.close();
  });
  return { database, turns };
};

const isFree = (path: string): boolean => {
  using other = new DatabaseSync(path, { timeout: 0 });
  try {
    other.exec('BEGIN IMMEDIATE');
    return true;
  } catch {
    return false;
  }
};

// invariant: turns-next-in-line
test('who waits for the database is alone in front of the line, and leaves it when it has the database', () => {
  const folder = newFolder();
  const { database, turns } = open(folder);
  const line = `${databasePath(folder)}-turns`;
  turns.begin();
  expect(isFree(line)).toBe(true);
  expect(isFree(databasePath(folder))).toBe(false);
  database.exec('COMMIT');
});

test('a process that holds the database and writes nothing is waited for until the timeout, and the error says so', () => {
  const folder = newFolder();
  const { turns } = open(folder);
  const other = lockedBy(databasePath(folder));
  expect(() => turns.begin()).toThrow(/another process holds cloister\.db, and has written nothing for 0\.\d s/u);
  // It has left the line, and comes to its turn later.
  expect(isFree(`${databasePath(folder)}-turns`)).toBe(true);
  other.exec('ROLLBACK');
  turns.begin();
});

// invariant: turns-only-order
test('a process that was stopped in the line keeps nobody from writing', () => {
  const folder = newFolder();
  const { database, turns } = open(folder);
  lockedBy(`${databasePath(folder)}-turns`);
  turns.begin();
  expect(database.isTransaction).toBe(true);
});

describe('the write-ahead log', () => {
  /** How many pages the log has, and how many of them are merged into the database. */
  const logOf = (folder: string) => {
    using other = new DatabaseSync(databasePath(folder));
    return other.prepare('PRAGMA wal_checkpoint(NOOP)').get() as {
      readonly log: number;
      readonly checkpointed: number;
    };
  };

  const withLongLog = () => {
    const folder = newFolder();
    const opened = open(folder);
    opened.turns.begin();
    opened.database.exec("INSERT INTO blobs VALUES ('long', zeroblob(5000000)); COMMIT");
    return { folder, ...opened };
  };

  // invariant: turns-merge-alone
  test('is merged completely before the next transaction, not after a commit when others may write, and begins anew', () => {
    const { folder, database, turns } = withLongLog();
    const { log, checkpointed } = logOf(folder);
    expect(log).toBeGreaterThan(1_000);
    expect(checkpointed).toBe(0);

    turns.begin();
    expect(logOf(folder)).toMatchObject({ log, checkpointed: log });
    database.exec("INSERT INTO blobs VALUES ('short', zeroblob(1)); COMMIT");
    expect(logOf(folder).log).toBeLessThan(20);
  });

  test('that a reader needs is merged later, and nobody waits for that', () => {
    const { folder, database, turns } = withLongLog();
    const reader = new DatabaseSync(databasePath(folder), { readOnly: true });
    onTestFinished(() => reader.close());
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM blobs').get();

    turns.begin();
    database.exec("INSERT INTO blobs VALUES ('second', zeroblob(1)); COMMIT");
    expect(logOf(folder).log).toBeGreaterThan(1_000);
    reader.exec('COMMIT');
    for (const ref of ['third', 'fourth']) {
      turns.begin();
      database.exec(`INSERT INTO blobs VALUES ('${ref}', zeroblob(1)); COMMIT`);
    }
    expect(logOf(folder).log).toBeLessThan(20);
  });
});
