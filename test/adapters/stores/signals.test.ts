// Signals: what every store must do with them, and what only applies to one on disk.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryStore, migrateWorkspace, openSqliteStore } from '#adapters/stores';
import type { Store } from '#contracts';
import { conformSignals, signalOf } from '../../conformance/signals.ts';
import { newRun } from '../../conformance/store.ts';
import { newFolder, openStore, startProcess, writeRun } from './fixture.ts';
import { newMapDisk, openMapStore } from './map-disk.ts';

conformSignals('memory', () => {
  const store = memoryStore();
  return async () => store;
});
conformSignals('sqlite', () => {
  const folder = newFolder();
  return () => openSqliteStore(folder);
});
conformSignals('log', () => {
  const disk = newMapDisk();
  return async () => openMapStore(disk);
});

const idsIn = async (store: Store): Promise<readonly string[]> => (await store.signals()).map(({ id }) => id);

const databaseIn = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  onTestFinished(() => database.close());
  return database;
};

describe('signals on disk', () => {
  test('are there after the store was closed and opened again, in their order', async () => {
    const folder = newFolder();
    const first = await openStore(folder);
    const run = newRun();
    for (const id of ['one', 'two', 'three']) await first.putSignal(signalOf(run, id));
    await first.removeSignal(run, 'two');
    await first.close();
    const second = await openStore(folder);
    expect(await idsIn(second)).toEqual(['one', 'three']);
    expect(await second.putSignal(signalOf(run, 'three', { by: 'somebody else' }))).toBe(false);
    expect(await second.putSignal(signalOf(run, 'two'))).toBe(true);
    expect(await idsIn(second)).toEqual(['one', 'three', 'two']);
    expect((await second.signals()).map(({ by }) => by)).toEqual(['operator', 'operator', 'operator']);
  });

  test('that another process was told are stored are there after it is killed', async () => {
    const folder = newFolder();
    const run = newRun();
    const other = startProcess('signal', folder, run);
    let acknowledged = -1;
    while (acknowledged < 40) acknowledged = Number(await other.line());
    await other.kill();
    for (let line = await other.line(); line !== undefined; line = await other.line()) acknowledged = Number(line);
    const found = await idsIn(await openStore(folder));
    expect(found.length).toBeGreaterThan(acknowledged);
    expect(found).toEqual(found.map((_, nth) => `s${nth}`));
  });

  test('of another process wake a store that watches', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    await writeRun(store);
    const noticed = Promise.withResolvers<readonly string[]>();
    onTestFinished(store.watchSignals(() => noticed.resolve(idsIn(store))));
    const other = startProcess('signal', folder, newRun());
    expect((await noticed.promise)[0]).toBe('s0');
    await other.kill();
  });

  test('wake a store that watches a workspace that does not exist yet', async () => {
    const folder = newFolder();
    const [watching, writing] = [await openStore(folder), await openStore(folder)];
    const noticed = Promise.withResolvers<void>();
    onTestFinished(watching.watchSignals(noticed.resolve));
    await writing.putSignal(signalOf(newRun(), 'one'));
    await noticed.promise;
    expect(await idsIn(watching)).toEqual(['one']);
  });

  test('wake nobody when other things are written, or when signals are removed', async () => {
    const folder = newFolder();
    const [watching, writing] = [await openStore(folder), await openStore(folder)];
    const run = newRun();
    await writing.putSignal(signalOf(run, 'one'));
    let calls = 0;
    const noticed = Promise.withResolvers<void>();
    const count = (): void => {
      calls++;
      noticed.resolve();
    };
    onTestFinished(watching.watchSignals(count));
    await writeRun(writing);
    await writing.removeSignal(run, 'one');
    const atRest = Promise.withResolvers<void>();
    setTimeout(atRest.resolve, 250);
    await atRest.promise;
    expect(calls).toBe(0);
    // The same number of signals as before is a new one, too.
    await writing.putSignal(signalOf(run, 'one'));
    await noticed.promise;
    expect(calls).toBe(1);
  });

  test('are found in a workspace that was created without them, once somebody has written there', async () => {
    const folder = newFolder();
    const before = await openStore(folder);
    const run = await writeRun(before);
    await before.close();
    databaseIn(folder).exec('DROP TABLE signals');
    const store = await openStore(folder);
    expect(await store.signals()).toEqual([]);
    const noticed = Promise.withResolvers<void>();
    onTestFinished(store.watchSignals(noticed.resolve));
    const other = await openStore(folder);
    expect(await other.putSignal(signalOf(run, 'one'))).toBe(true);
    await noticed.promise;
    expect(await idsIn(store)).toEqual(['one']);
    expect(await store.read(run)).toHaveLength(4);
  });

  test('need no other format, and `migrate` has nothing to do', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    await store.putSignal(signalOf(newRun(), 'one'));
    await store.close();
    expect(await migrateWorkspace(folder, { build: 'test' })).toMatchObject({ from: 5, to: 5, copy: null });
  });

  test('are kept by a migration', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    await store.putSignal(signalOf(newRun(), 'one'));
    await store.close();
    const steps = [{ from: 5, to: 6, change: () => undefined }];
    await migrateWorkspace(folder, { build: 'test', steps, newest: 6 });
    expect(databaseIn(folder).prepare('SELECT id FROM signals').all()).toEqual([{ id: 'one' }]);
  });

  test('that are damaged are reported with their run and id', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = newRun();
    await store.putSignal(signalOf(run, 'one'));
    databaseIn(folder).exec("UPDATE signals SET body = '{'");
    await expect(store.signals()).rejects.toMatchObject({
      failure: { code: 'store_damaged', detail: `signal one of run ${run} is damaged` },
    });
  });

  test('are refused by a closed store', async () => {
    const store = await openStore();
    await store.putSignal(signalOf(newRun(), 'one'));
    await store.close();
    await expect(store.putSignal(signalOf(newRun(), 'two'))).rejects.toMatchObject({ code: 'store_failed' });
    await expect(store.signals()).rejects.toMatchObject({ code: 'store_failed' });
    expect(() => store.watchSignals(() => undefined)).toThrow('closed');
  });
});

test('whatever commits do, an acknowledged signal is there exactly once, and one that failed can be put again', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('ok', 'lost', 'written'), { minLength: 3, maxLength: 12 }),
      async (fates) => {
        const disk = newMapDisk();
        let nth = 0;
        const store = openMapStore(disk, {
          commit: (replace) => {
            const fate = fates[nth++];
            if (fate !== 'lost') replace();
            if (fate === 'lost' || fate === 'written') throw new Error('disk I/O error');
          },
        });
        const run = newRun();
        for (const [index] of fates.entries()) {
          const put = (): Promise<boolean | null> => store.putSignal(signalOf(run, `s${index}`)).catch(() => null);
          let stored = await put();
          for (let tries = 0; stored === null && tries < fates.length; tries++) stored = await put();
          expect((await openMapStore(disk).signals()).filter(({ id }) => id === `s${index}`)).toHaveLength(1);
        }
        expect(await idsIn(openMapStore(disk))).toEqual(fates.map((_, index) => `s${index}`));
        await store.close().catch(() => undefined);
      },
    ),
    { numRuns: 50 },
  ));

test('a signal fails with its batch, and its sender is told', async () => {
  const store = await openStore(newFolder(), { faults: { failTransactions: [1] } });
  await expect(store.putSignal(signalOf(newRun(), 'one'))).rejects.toMatchObject({ code: 'store_failed' });
  expect(await store.signals()).toEqual([]);
});
