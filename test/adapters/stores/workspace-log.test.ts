// The workspace's own log: what holds for every store, and what only applies to one on disk.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { WorkspaceRecord, Store } from '#contracts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore } from './fixture.ts';
import { newMapDisk, openMapStore } from './map-disk.ts';

const turn = (run: string): WorkspaceRecord => ({
  type: 'turn',
  conversation: { agent: 'lead', name: 'trip “2”' },
  agent: 'lead',
  run: run as RunId,
});

const runsIn = async (store: Store): Promise<readonly string[]> =>
  (await store.readWorkspaceLog()).map(({ record }) => (record.type === 'turn' ? record.run : record.type));

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(undefined, () => 77),
  sqlite: () => openStore(newFolder(), { now: () => 77 }),
};

describe.for(Object.entries(stores))('the workspace log of a %s store', ([, open]) => {
  test('returns records in order, with their assigned numbers and times', async () => {
    const store = await open();
    expect(await store.readWorkspaceLog()).toEqual([]);
    expect(await store.appendRecord(turn('a'))).toBe(0);
    expect(await store.appendRecord(turn('b'), 0)).toBe(1);
    expect(await store.readWorkspaceLog()).toEqual([
      { no: 0, at: 77, record: turn('a') },
      { no: 1, at: 77, record: turn('b') },
    ]);
  });

  test('keeps a record as it was when it was appended', async () => {
    const store = await open();
    const record = { type: 'forget', checkpoints: ['one'] } as const;
    const noting = store.appendRecord(record);
    (record.checkpoints as unknown as string[]).push('two');
    await noting;
    expect((await store.readWorkspaceLog())[0]?.record).toEqual({ type: 'forget', checkpoints: ['one'] });
  });

  test('of many appends that saw the same end, one succeeds and the others are refused', async () => {
    const store = await open();
    await store.appendRecord(turn('first'));
    const tried = await Promise.allSettled(['a', 'b', 'c'].map((run) => store.appendRecord(turn(run), 0)));
    expect(tried.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(tried[1]).toMatchObject({ reason: { code: 'book_moved' } });
    expect(await runsIn(store)).toEqual(['first', 'a']);
    await expect(store.appendRecord(turn('d'), -1)).rejects.toMatchObject({ code: 'book_moved' });
    await expect(store.appendRecord(turn('d'), 9)).rejects.toMatchObject({ code: 'book_moved' });
  });

  // invariant: workspace-record-stale-refused
  test('a refused record does not affect the rest of its batch', async () => {
    const store = await open();
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    const refused = store.appendRecord(turn('late'), 5);
    const taken = store.appendRecord(turn('a'));
    log.append(make.step());
    await expect(refused).rejects.toMatchObject({ code: 'book_moved' });
    expect(await taken).toBe(0);
    await log.durable();
    expect((await store.read(run)).length).toBe(2);
    await log.close();
  });

  test('a cut is identified by its last frame, and stays the same however far the run has gone since', async () => {
    const store = await open();
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    log.append(make.step());
    await log.durable();
    const early = await store.hashPrefix(run);
    expect(early.frames).toBe(2);
    log.append(make.step('more'));
    log.append(make.close());
    await log.close();
    expect(await store.hashPrefix(run, 2)).toEqual(early);
    expect((await store.hashPrefix(run)).frames).toBe(4);
    expect((await store.hashPrefix(run)).hash).not.toBe(early.hash);
    await expect(store.hashPrefix(run, 5)).rejects.toMatchObject({ code: 'checkpoint_invalid' });
    await expect(store.hashPrefix(run, 0)).rejects.toMatchObject({ code: 'checkpoint_invalid' });
    await expect(store.hashPrefix('other' as RunId)).rejects.toMatchObject({ code: 'run_unknown' });
  });
});

test('both stores give the same hash for the same frames', async () => {
  const run = newRun();
  const hashes: string[] = [];
  for (const open of Object.values(stores)) {
    const store = await open();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    for (const frame of [make.open(), make.step(), make.close()]) log.append(frame);
    await log.close();
    hashes.push((await store.hashPrefix(run)).hash);
  }
  expect(hashes[0]).toBe(hashes[1]);
});

describe('a workspace log on disk', () => {
  // invariant: workspace-record-numbered-in-transaction
  test('is written by any number of stores, and each record follows the one before it', async () => {
    const folder = newFolder();
    const some = [await openStore(folder), await openStore(folder), await openStore(folder)];
    const numbers = await Promise.all(
      some.flatMap((store, which) =>
        Array.from({ length: 20 }, (_, nth) => store.appendRecord(turn(`${which}-${nth}`))),
      ),
    );
    expect(numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 60 }, (_, no) => no));
    const [first] = some;
    const pages = await runsIn(first!);
    expect(pages.length).toBe(60);
    for (const which of [0, 1, 2])
      expect(pages.filter((run) => run.startsWith(`${which}-`))).toEqual(
        Array.from({ length: 20 }, (_, nth) => `${which}-${nth}`),
      );
  });

  // invariant: workspace-record-stale-refused
  test('refuses a record that missed another process’s append', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    await store.appendRecord(turn('here'));
    const script = `
      import { openSqliteStore } from '#adapters/stores';
      const store = await openSqliteStore(${JSON.stringify(folder)});
      await store.appendRecord(${JSON.stringify(turn('there'))}, 0);
      await store.close();
    `;
    const child = spawn(process.execPath, ['--conditions=cloister-source', '--input-type=module', '-e', script], {
      cwd: join(import.meta.dirname, '../../..'),
      stdio: 'inherit',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    expect((await once(child, 'exit'))[0]).toBe(0);
    await expect(store.appendRecord(turn('late'), 0)).rejects.toMatchObject({ code: 'book_moved' });
    expect(await store.appendRecord(turn('late'), 1)).toBe(2);
    expect(await runsIn(store)).toEqual(['here', 'there', 'late']);
  });

  const openDamage = async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    for (const run of ['a', 'b', 'c', 'd']) await store.appendRecord(turn(run));
    await store.close();
    const database = new DatabaseSync(join(folder, 'cloister.db'));
    onTestFinished(() => database.close());
    return { folder, sql: (text: string): void => database.exec(text) };
  };

  test.for([
    ["UPDATE book SET body = replace(body, 'trip', 'trap') WHERE no = 2", 'record 2 of the workspace log is damaged'],
    ["UPDATE book SET hash = '0' WHERE no = 1", 'record 1 of the workspace log is damaged'],
    ['DELETE FROM book WHERE no = 1', 'record 1 of the workspace log is missing'],
    ['DELETE FROM book WHERE no = 3', 'record 3 of the workspace log is missing'],
    ['DELETE FROM book', 'record 0 of the workspace log is missing'],
    ['UPDATE book SET no = 9 WHERE no = 3', 'record 3 of the workspace log is missing'],
    ["UPDATE book SET body = 'x' WHERE no = 0", 'record 0 of the workspace log is damaged'],
    ["UPDATE meta SET value = '1 ' || substr(value, 3) WHERE key = 'book'", 'record 1 of the workspace log is damaged'],
  ] as const)('reports damage by “%s”', async ([change, words]) => {
    const { folder, sql } = await openDamage();
    sql(change);
    const store = await openStore(folder);
    await expect(store.readWorkspaceLog()).rejects.toMatchObject({ failure: { code: 'store_damaged', detail: words } });
  });

  test('one flipped bit anywhere in a record is found', async () => {
    const { folder } = await openDamage();
    const database = new DatabaseSync(join(folder, 'cloister.db'));
    onTestFinished(() => database.close());
    const rows = database.prepare('SELECT no, body FROM book ORDER BY no').all() as { no: number; body: string }[];
    await fc.assert(
      fc.asyncProperty(fc.nat(3), fc.nat(), async (no, at) => {
        const bytes = Buffer.from(rows[no]!.body);
        bytes[at % bytes.length]! ^= 1 << (at % 7);
        database.prepare('UPDATE book SET body = ? WHERE no = ?').run(bytes.toString(), no);
        // A store verifies each record once.
        const store = await openStore(folder);
        const found = await store.readWorkspaceLog().then(
          () => 'nothing',
          (error: { failure: { detail: string } }) => error.failure.detail,
        );
        database.prepare('UPDATE book SET body = ? WHERE no = ?').run(rows[no]!.body, no);
        expect(found).toBe(`record ${no} of the workspace log is damaged`);
      }),
      { numRuns: 60 },
    );
    const whole = await openStore(folder);
    expect((await whole.readWorkspaceLog()).length).toBe(4);
  });

  test('returns what was verified, whatever happens to a record afterwards, and is verified again when its end has changed', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    for (const run of ['a', 'b', 'c']) await store.appendRecord(turn(run));
    expect(await runsIn(store)).toEqual(['a', 'b', 'c']);
    const database = new DatabaseSync(join(folder, 'cloister.db'));
    onTestFinished(() => database.close());
    database.exec('UPDATE book SET body = replace(body, \'"a"\', \'"x"\') WHERE no = 0');
    await store.appendRecord(turn('d'));
    expect(await runsIn(store)).toEqual(['a', 'b', 'c', 'd']);
    database.exec("UPDATE book SET hash = '0' WHERE no = 3");
    await expect(store.readWorkspaceLog()).rejects.toMatchObject({
      failure: { detail: 'record 0 of the workspace log is damaged' },
    });
  });

  // invariant: workspace-log-lost-end
  test('that has lost its end is reported as such, and is not continued', async () => {
    const folder = newFolder();
    // It stays open, so its heads stay beside the database.
    const writing = await openStore(folder);
    for (const run of ['a', 'b', 'c']) await writing.appendRecord(turn(run));
    const database = new DatabaseSync(join(folder, 'cloister.db'));
    database.exec("DELETE FROM book WHERE no = 2; DELETE FROM meta WHERE key = 'book'");
    database.close();
    const store = await openStore(folder);
    await expect(store.readWorkspaceLog()).rejects.toMatchObject({
      failure: { detail: 'record 2 of the workspace log is missing' },
    });
    await expect(store.appendRecord(turn('d'))).rejects.toMatchObject({ code: 'store_damaged' });
  });
});

describe('whatever commits do', () => {
  const opened: Store[] = [];
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close().catch(() => undefined);
  });

  test('an acknowledged record is there exactly once, and a failed one may be there too', () =>
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
          opened.push(store);
          const acknowledged: string[] = [];
          for (const [index] of fates.entries()) {
            const no = await store.appendRecord(turn(`run-${index}`)).catch(() => null);
            if (no !== null) acknowledged.push(`${no} run-${index}`);
          }
          const kept = (await store.readWorkspaceLog()).map(
            ({ no, record }) => `${no} ${record.type === 'turn' ? record.run : ''}`,
          );
          for (const page of acknowledged) expect(kept.filter((one) => one === page)).toEqual([page]);
          expect(kept.length).toBe(fates.filter((fate) => fate !== 'lost').length);
        },
      ),
      { numRuns: 50 },
    ));
});
