import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import { conformStore, framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, writeRun } from './fixture.ts';

const change = (folder: string, sql: string): void => {
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  database.exec(sql);
  database.close();
};

conformStore('sqlite', async () => openSqliteStore(newFolder()));

const format = (number: number): string =>
  `CREATE TABLE meta(key, value); INSERT INTO meta VALUES ('cloister', '${number}')${number > 2 ? ", ('written-by', 'cloister 9.9.9')" : ''}; PRAGMA journal_mode = WAL`;

describe('group commit', () => {
  test('everything one run appends in one go is one transaction, however much it is', async () => {
    const store = await openStore();
    const run = newRun();
    const log = await store.acquireRun(run);
    const before = store.transactions();
    const make = framesOf(run);
    log.append(make.open());
    for (let nth = 0; nth < 300; nth++) log.append(make.step());
    await log.durable();
    expect(store.transactions() - before).toBe(1);
  });

  test('everything all runs append in one tick takes at most two transactions: the first starts while the rest is collected', async () => {
    const store = await openStore();
    const runs = Array.from({ length: 100 }, newRun);
    const logs = await Promise.all(runs.map(async (run) => store.acquireRun(run)));
    const before = store.transactions();
    const makes = runs.map((run) => framesOf(run));
    makes.forEach((make, which) => logs[which]!.append(make.open()));
    makes.forEach((make, which) => logs[which]!.append(make.step()));
    await Promise.all(logs.map(async (log) => log.durable()));
    expect(store.transactions() - before).toBeLessThanOrEqual(2);
  });

  // invariant: writer-one-batch-in-flight
  test('what is appended when an acknowledgement arrives shares the next transaction', async () => {
    const store = await openStore();
    const runs = Array.from({ length: 20 }, newRun);
    const rounds = 10;
    await Promise.all(
      runs.map(async (run) => {
        const log = await store.acquireRun(run);
        const make = framesOf(run);
        for (let round = 0; round < rounds; round++) {
          log.append(round === 0 ? make.open() : make.step());
          await log.durable();
        }
      }),
    );
    expect(store.transactions()).toBe(1 + rounds);
  });

  test('closing the store makes everything durable', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = newRun();
    const log = await store.acquireRun(run);
    log.append(framesOf(run).open());
    await store.close();
    expect(await (await openStore(folder)).read(run)).toHaveLength(1);
  });
});

describe('the workspace folder', () => {
  // invariant: store-created-by-first-write
  test('is not created by reading it', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    expect(await store.list()).toEqual([]);
    await expect(store.read(newRun())).rejects.toMatchObject({ code: 'run_unknown' });
    await expect(store.getBlob('0'.repeat(64))).rejects.toMatchObject({ code: 'file_missing' });
    await store.close();
    expect(existsSync(folder)).toBe(false);
  });

  test('is seen by a store that was opened before it was created', async () => {
    const folder = newFolder();
    const early = await openStore(folder);
    expect(await early.list()).toEqual([]);
    const run = await writeRun(await openStore(folder));
    expect(await early.read(run)).toHaveLength(4);
  });

  test('holds only the database and the runs after closing', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = await writeRun(store);
    await store.read(run);
    await store.close();
    expect(readdirSync(folder)).toEqual(['cloister.db']);
  });

  // invariant: database-foreign-never-written
  test('a file that is not a database is named and left alone', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const path = join(folder, 'cloister.db');
    writeFileSync(path, 'just a text, long enough to be read as a header of some database file '.repeat(20));
    const before = readFileSync(path);
    await expect(openSqliteStore(folder)).rejects.toMatchObject({ code: 'store_damaged' });
    expect(readFileSync(path)).toEqual(before);
  });

  test.for([
    ['of another program', 'CREATE TABLE notes(body TEXT)', 'store_damaged', 'another program'],
    ['with another meta table', 'CREATE TABLE meta(a, b)', 'store_damaged', 'another program'],
    [
      'of an earlier format',
      format(1),
      'workspace_format',
      'has format 1, written by a build that was never released. This build reads formats 3, 4 and 5. Only the build',
    ],
    ['of a later format', format(99), 'workspace_format', 'Use cloister 9.9.9 or newer. Nothing was changed.'],
  ] as const)('a database %s is named and left alone', async ([, sql, code, words]) => {
    const folder = newFolder();
    const early = await openStore(folder);
    mkdirSync(folder);
    const path = join(folder, 'cloister.db');
    const database = new DatabaseSync(path);
    database.exec(sql);
    database.close();
    const before = readFileSync(path);
    await expect(openSqliteStore(folder)).rejects.toThrow(words);
    await expect(early.acquireRun(newRun())).rejects.toMatchObject({ code });
    await early.close();
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(folder)).toEqual(['cloister.db']);
  });
});

describe('tampering', () => {
  const damage = async (sql: string) => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = await writeRun(store, 20);
    const healthy = await writeRun(store, 2);
    change(folder, sql.replaceAll('$run', `'${run}'`));
    await expect(store.read(run)).rejects.toMatchObject({ code: 'store_damaged' });
    expect(await store.read(healthy)).toHaveLength(3);
    return { run, ...(await store.inspect(run)) };
  };

  test('a changed byte is reported for its frame', async () => {
    const { run, problems, frames } = await damage(
      "UPDATE frames SET body = replace(body, 'körper', 'korper') WHERE run = $run AND no = 17",
    );
    expect(problems).toEqual([`frame 17 of run ${run} is damaged`]);
    expect(frames).toHaveLength(21);
  });

  test('a body that is no longer JSON is reported for its frame', async () => {
    const { run, problems } = await damage("UPDATE frames SET body = x'ff00' WHERE run = $run AND no = 17");
    expect(problems).toEqual([`frame 17 of run ${run} is damaged`]);
  });

  test('a missing row is reported', async () => {
    const { run, problems } = await damage('DELETE FROM frames WHERE run = $run AND no = 17');
    expect(problems).toEqual([`frame 17 of run ${run} is missing`]);
  });

  test('missing first rows are reported', async () => {
    const { run, problems } = await damage('DELETE FROM frames WHERE run = $run AND no < 2');
    expect(problems).toEqual([`frames 0 to 1 of run ${run} are missing`]);
  });

  test('missing last rows are reported', async () => {
    const { run, problems } = await damage('DELETE FROM frames WHERE run = $run AND no > 18');
    expect(problems).toEqual([`frames 19 to 20 of run ${run} are missing`]);
  });

  test('a run without any rows is damaged, not unknown', async () => {
    const { run, problems } = await damage('DELETE FROM frames WHERE run = $run');
    expect(problems).toEqual([`frames 0 to 20 of run ${run} are missing`]);
  });

  test('swapped rows are reported', async () => {
    const { run, problems } = await damage(
      `UPDATE frames SET no = CASE no WHEN 3 THEN -4 ELSE -3 END WHERE run = $run AND no IN (3, 4);
       UPDATE frames SET no = -no WHERE run = $run AND no < 0`,
    );
    expect(problems).toContain(`frame 3 of run ${run} is damaged`);
    expect(problems).toContain(`frame 4 of run ${run} is damaged`);
  });

  test('a rewritten chain does not match the recorded end', async () => {
    const { problems } = await damage("UPDATE runs SET head = 'x' WHERE run = $run");
    expect(problems).toHaveLength(1);
  });

  test('a changed blob is reported, and storing the bytes again repairs it', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const ref = await store.putBlob(Buffer.from('the bytes'));
    change(folder, "UPDATE blobs SET bytes = x'00'");
    await expect(store.getBlob(ref)).rejects.toMatchObject({ code: 'store_damaged' });
    await store.putBlob(Buffer.from('the bytes'));
    expect(Buffer.from(await store.getBlob(ref)).toString()).toBe('the bytes');
  });
});
