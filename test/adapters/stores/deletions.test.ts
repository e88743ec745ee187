// Deleted runs: what every store must do, and what only applies to one on disk.
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryStore, migrateWorkspace, openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import { conformDeletions, deletionOf, recordRun } from '../../conformance/deletions.ts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, startProcess, writeRun } from './fixture.ts';
import { newMapDisk, openMapStore } from './map-disk.ts';

conformDeletions('memory', () => {
  const store = memoryStore();
  return async () => store;
});
conformDeletions('sqlite', () => {
  const folder = newFolder();
  return () => openSqliteStore(folder);
});
conformDeletions('log', () => {
  const disk = newMapDisk();
  return async () => openMapStore(disk);
});

const databaseIn = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  onTestFinished(() => database.close());
  return database;
};

/** The files of a workspace, with all that is below it, in which the text occurs. */
const filesWith = (folder: string, text: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() && readFileSync(path).includes(text) ? [path] : [];
  });

/** An agent's goals are in the list of runs, which is rewritten with each of its batches, beside many others. */
const fillWorkspace = async (folder: string, secret: string) => {
  const store = await openStore(folder);
  const runs: RunId[] = [];
  for (let nth = 0; nth < 60; nth++)
    runs.push(
      await recordRun(store, newRun(), [
        `${nth % 3 === 0 ? secret : 'harmless'} ${'x'.repeat(nth * 40)}`,
        `step ${nth % 3 === 0 ? secret : ''}`,
      ]),
    );
  return { store, secret: runs.filter((_, nth) => nth % 3 === 0), others: runs.filter((_, nth) => nth % 3 !== 0) };
};

describe('a deletion on disk', () => {
  // invariant: deletion-leaves-no-bytes
  test('leaves no byte of the text in the database, its write-ahead log and the folders of runs', async () => {
    const folder = newFolder();
    const secret = 'sphinx-of-black-quartz';
    const { store, secret: gone, others } = await fillWorkspace(folder, secret);
    const blob = await store.putBlob(Buffer.from(`${secret} ${'y'.repeat(50_000)}`));
    gone.push(await recordRun(store, newRun(), [`it has ${blob}`]));
    for (const run of gone) {
      mkdirSync(join(folder, 'runs', run, 'lead-1', 'outputs'), { recursive: true });
      writeFileSync(join(folder, 'runs', run, 'lead-1', 'outputs', 'notes.txt'), secret);
    }
    expect(filesWith(folder, secret).length).toBeGreaterThan(20);
    await store.deleteRuns(await Promise.all(gone.map((run) => deletionOf(store, run))));
    const report = await store.finishDeletions(gone);
    expect(report).toMatchObject({ isFinished: true, blobs: 1 });
    expect(report.bytesAfter).toBeLessThan(report.bytesBefore);
    expect(filesWith(folder, secret)).toEqual([]);
    expect(statSync(join(folder, 'cloister.db-wal')).size).toBe(0);
    for (const run of gone) expect(existsSync(join(folder, 'runs', run))).toBe(false);
    for (const run of others) expect(await store.read(run)).toHaveLength(4);
    expect((await store.list()).map(({ run }) => run).toSorted()).toEqual(others.toSorted());
  });

  // Overwriting deleted rows does not do: rows of the list grow while runs work, and a page that is divided for that keeps what it held. In
  // this workspace, one of them does; in most, none.
  test('leaves no byte of the text in pages that were divided while it was there', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const [secret, seed] = ['sphinx-of-black', 5];
    let state = seed;
    const random = (most: number): number =>
      ((state = (state * 1_103_515_245 + 12_345) & 0x7f_ff_ff_ff) / 0x7f_ff_ff_ff) * most;
    const gone: RunId[] = [];
    const working = [];
    for (let nth = 0; nth < 90; nth++) {
      const [isSecret, run] = [random(1) < 0.3, `run-${seed}-${nth}` as RunId];
      const [log, make] = [await store.acquireRun(run), framesOf(run)];
      log.append(make.open(`${isSecret ? secret : 'harmless'} ${'x'.repeat(random(700))}`));
      await log.durable();
      working.push({ log, make });
      if (isSecret) gone.push(run);
    }
    for (const { log, make } of working) {
      log.append(make.close());
      await log.close();
    }
    await store.deleteRuns(await Promise.all(gone.map((run) => deletionOf(store, run))));
    expect(await store.finishDeletions(gone)).toMatchObject({ isFinished: true });
    expect(filesWith(folder, secret)).toEqual([]);
  });

  test('leaves no run that looks lost, while its head is still noted beside the log', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const [gone, kept] = [await recordRun(store), await recordRun(store)];
    const deletion = await deletionOf(store, gone);
    await store.deleteRuns([deletion]);
    expect(readdirSync(join(folder, 'heads'))).toHaveLength(1);
    for (const one of [store, await openStore(folder)]) {
      expect((await one.list()).map(({ run, state }) => [run, state])).toEqual([[kept, 'ended']]);
      expect(await one.list({ runs: [gone] })).toEqual([]);
      await expect(one.inspect(gone)).rejects.toMatchObject({
        failure: { code: 'run_unknown', detail: `Run ${gone} was deleted on 1970-01-01T00:00:05.000Z by operator.` },
      });
    }
    await store.close();
    expect(existsSync(join(folder, 'heads'))).toBe(false);
  });

  test('is not what a row says, only what the workspace log says', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = await recordRun(store);
    await store.close();
    const database = databaseIn(folder);
    database.exec(`DELETE FROM frames; INSERT INTO deleted(run, no) VALUES ('${run}', 0)`);
    const [listed] = await (await openStore(folder)).list();
    expect(listed).toMatchObject({ run, state: 'damaged' });
  });

  test('gives a workspace of format 3 the next one, and builds that do not know it refuse it from then on', async () => {
    const folder = newFolder();
    const first = await openStore(folder);
    const run = await recordRun(first);
    await first.close();
    const database = databaseIn(folder);
    database.exec("UPDATE meta SET value = '3' WHERE key = 'cloister'; DROP TABLE deleted; DROP TABLE loose_blobs");
    const formatOf = (): unknown => database.prepare("SELECT value FROM meta WHERE key = 'cloister'").get()?.['value'];
    const store = await openStore(folder);
    expect(await store.pendingDeletions()).toEqual([]);
    expect(await store.tombstone(run)).toBeNull();
    await writeRun(store);
    expect(formatOf()).toBe('3');
    await store.deleteRuns([await deletionOf(store, run)]);
    expect(formatOf()).toBe('4');
    expect(await store.list()).toHaveLength(1);
  });

  test('lets a database that an earlier build created give pages back', async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const old = new DatabaseSync(join(folder, 'cloister.db'));
    old.exec('CREATE TABLE t(x); DROP TABLE t');
    old.close();
    const mode = (): unknown => databaseIn(folder).prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'];
    const store = await openStore(folder);
    const run = await recordRun(store);
    await store.deleteRuns([await deletionOf(store, run)]);
    await store.finishDeletions([run]);
    expect(mode()).toBe(2);
  });

  test('is not finished while another process reads what was before, and is finished later', async () => {
    const folder = newFolder();
    const store = await openStore(folder, { busyTimeoutMs: 50 });
    const run = await recordRun(store);
    const reader = databaseIn(folder);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM frames').get();
    await store.deleteRuns([await deletionOf(store, run)]);
    expect(await store.finishDeletions([run])).toMatchObject({ isFinished: false });
    expect(await store.pendingDeletions()).toHaveLength(1);
    reader.exec('COMMIT');
    expect(await store.finishDeletions([run])).toMatchObject({ isFinished: true });
    expect(await store.pendingDeletions()).toEqual([]);
  });

  test('is refused while another process owns the run', async () => {
    const folder = newFolder();
    const [store, run] = [await openStore(folder), newRun()];
    const other = startProcess('hold', folder, run);
    await other.line();
    await expect(store.deleteRuns([await deletionOf(store, run)])).rejects.toMatchObject({ code: 'run_owned' });
    await other.kill();
    await store.deleteRuns([await deletionOf(store, run)]);
    expect(await store.list()).toEqual([]);
  });

  test('names folders that belong to no run', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = await recordRun(store);
    for (const name of [run, 'nobody']) mkdirSync(join(folder, 'runs', name), { recursive: true });
    expect(await store.strayFolders()).toEqual(['nobody']);
  });
});

test('migrate brings a workspace of format 3 to the newest one', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = await recordRun(store);
  await store.close();
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  database.exec("UPDATE meta SET value = '3' WHERE key = 'cloister'");
  database.close();
  expect(await migrateWorkspace(folder, { build: 'test' })).toMatchObject({ from: 3, to: 5 });
  expect(await (await openStore(folder)).read(run)).toHaveLength(3);
});
