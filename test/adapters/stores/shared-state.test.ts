// What processes of one store share: what every store must do, and what only applies to one on disk.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { memoryStore, openSqliteStore } from '#adapters/stores';
import { conformSharedState } from '../../conformance/shared-state.ts';
import { deletionOf, recordRun } from '../../conformance/deletions.ts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, startProcess, writeRun } from './fixture.ts';
import { newMapDisk, openMapStore } from './map-disk.ts';

conformSharedState('memory', () => {
  const store = memoryStore();
  return async () => store;
});
conformSharedState('sqlite', () => {
  const folder = newFolder();
  return () => openSqliteStore(folder);
});
conformSharedState(
  'log',
  () => {
    const disk = newMapDisk();
    return async () => openMapStore(disk);
  },
  { live: true },
);

test('a value that is shared is there in a workspace that was created without the table, once somebody has written it', async () => {
  const folder = newFolder();
  const before = await openStore(folder);
  await writeRun(before);
  await before.close();
  databaseIn(folder).exec('DROP TABLE shared');
  const store = await openStore(folder);
  expect(await store.readShared('key')).toEqual({ value: null, version: 0 });
  const other = await openStore(folder);
  expect(await other.writeShared('key', { a: 1 }, 0)).toBe(true);
  expect(await store.readShared('key')).toEqual({ value: { a: 1 }, version: 1 });
  databaseIn(folder).exec("UPDATE shared SET value = '{'");
  await expect(store.readShared('key')).rejects.toMatchObject({ code: 'store_damaged' });
});

test('a process that was killed is not live, and its run is followed on when another one continues it', async () => {
  const folder = newFolder();
  const run = newRun();
  const other = startProcess('append', folder, run);
  const store = await openStore(folder);
  const frames: number[] = [];
  let acknowledged = -1;
  while (acknowledged < 20) acknowledged = Number(await other.line());
  const follower = store.follow(run, 0)[Symbol.asyncIterator]();
  const until = async (last: number): Promise<void> => {
    while ((frames.at(-1) ?? -1) < last) for (const { no } of (await follower.next()).value ?? []) frames.push(no);
  };
  await until(acknowledged);
  const [instance = ''] = databaseIn(folder)
    .prepare('SELECT pid, started, host, instance FROM owners')
    .all()
    .map(nameOf);
  expect(await store.isLive(instance)).toBe(true);
  await other.kill();
  expect(await store.isLive(instance)).toBe(false);
  const log = await store.acquireRun(run);
  const next = (await store.read(run)).length;
  log.append(framesOf(run, next).step());
  await log.close();
  await until(next);
  await follower.return?.();
  expect(frames).toEqual(Array.from({ length: next + 1 }, (_, no) => no));
});

// invariant: changes-not-missed
test('frames are noticed although row numbers are used again', async () => {
  const folder = newFolder();
  const [writing, following] = [await openStore(folder), await openStore(folder)];
  const run = await writeRun(writing);
  const gone = await recordRun(writing, newRun(), ['a', 'b', 'c', 'd', 'e']);
  const follower = following.follow(run, 4)[Symbol.asyncIterator]();
  const next = follower.next();
  await writing.deleteRuns([await deletionOf(writing, gone)]);
  const log = await writing.acquireRun(run);
  log.append(framesOf(run, 4).step());
  await log.close();
  expect((await next).value).toMatchObject([{ no: 4 }]);
  await follower.return?.();
});

test.for<readonly [string, string]>([
  ['a changed record', "UPDATE frames SET body = replace(body, 'done', 'gone') WHERE no = 2"],
  ['a missing record', 'DELETE FROM frames WHERE no = 2'],
])('a run with %s cannot be followed over it', async ([, change]) => {
  const folder = newFolder();
  const writing = await openStore(folder);
  const run = await writeRun(writing, 4, 'done');
  await writing.close();
  const database = databaseIn(folder);
  database.exec("UPDATE meta SET value = '4' WHERE key = 'cloister'");
  database.exec(change);
  const store = await openStore(folder);
  const follower = store.follow(run, 0)[Symbol.asyncIterator]();
  await expect(follower.next()).rejects.toMatchObject({ code: 'store_damaged' });
});

const databaseIn = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  onTestFinished(() => database.close());
  return database;
};

/** As that process names itself. */
const nameOf = (row: Record<string, unknown>): string =>
  [row['instance'], row['pid'], row['started'], row['host']].join(' ');
