import { mkdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
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
