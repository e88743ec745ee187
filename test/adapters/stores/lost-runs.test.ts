// A run that heads or frames still record is listed, whatever the table of runs has lost.
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
  readdirSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import type { LogStore } from '#testing/adapters/stores';
import type { RunId } from '#base';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, startProcess, writeRun } from './fixture.ts';

const database = 'cloister.db';
const wal = 'cloister.db-wal';

/** A workspace as a crash leaves it: an older run in the database, others in the write-ahead log, in this order. */
const crashedWorkspace = async () => {
  const folder = newFolder();
  const first = await openStore(folder);
  const older = await writeRun(first);
  await first.close();
  const store = await openStore(folder);
  const newer = [await writeRun(store), await writeSlowly(store)];
  const image = newFolder();
  cpSync(folder, image, { recursive: true });
  return { folder: image, older, newer };
};

/** Each of its frames is durable before the next one is written. */
const writeSlowly = async (store: LogStore, at = 1000): Promise<RunId> => {
  const run = newRun();
  const log = await store.acquireRun(run);
  const make = framesOf(run, 0, at);
  for (let step = 0; step < 8; step++) {
    log.append(step === 0 ? make.open() : make.step());
    await log.durable();
  }
  await log.close();
  return run;
};

const listIn = async (folder: string) => {
  const store = await openSqliteStore(folder);
  try {
    return await store.list();
  } finally {
    await store.close();
  }
};

const unknownFacts = {
  agent: '',
  goal: '',
  startedAt: 0,
  endedAt: null,
  status: null,
  cells: 0,
  caller: null,
  spent: null,
  recordedBy: null,
  owner: null,
};

const changed = (folder: string, sql: string): void => {
  using open = new DatabaseSync(join(folder, database));
  open.exec(sql);
};

describe('a run that is missing from the list of runs', () => {
  test('is listed as damaged, newest first, when the write-ahead log is gone', async () => {
    const { folder, older, newer } = await crashedWorkspace();
    rmSync(join(folder, wal));
    expect(await listIn(folder)).toEqual([
      { run: newer[1], ...unknownFacts, state: 'damaged' },
      { run: newer[0], ...unknownFacts, state: 'damaged' },
      expect.objectContaining({ run: older, state: 'interrupted' }),
    ]);
  });

  test.each([
    ['missing', (path: string) => rmSync(path)],
    ['empty', (path: string) => writeFileSync(path, '')],
  ])('is listed when the database is %s, and no database is created for that', async (what, change) => {
    const { folder, newer } = await crashedWorkspace();
    rmSync(join(folder, wal));
    change(join(folder, database));
    expect((await listIn(folder)).map(({ run, state }) => [run, state])).toEqual(
      newer.toReversed().map((run) => [run, 'damaged']),
    );
    expect(existsSync(join(folder, database))).toBe(what === 'empty');
  });

  test('is listed with the details of its first frame when only its row is gone', async () => {
    const { folder, older, newer } = await crashedWorkspace();
    const listed = (await listIn(folder)).find(({ run }) => run === older)!;
    changed(folder, `DELETE FROM runs WHERE run = '${older}'`);
    const list = await listIn(folder);
    expect(list).toHaveLength(3);
    expect(list).toContainEqual({
      ...unknownFacts,
      run: older,
      agent: 'lead',
      goal: listed.goal,
      startedAt: 1000,
      recordedBy: listed.recordedBy,
      state: 'damaged',
    });
    expect(list.filter(({ state }) => state !== 'damaged').map(({ run }) => run)).toEqual(newer.toReversed());
    const store = await openStore(folder);
    await store.rebuild(older);
    expect(await store.list()).toContainEqual(listed);
  });

  // invariant: list-page-by-index
  test('is found by its id and by a prefix, without reading the whole list', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const [first, lost, last] = [await writeRun(store), await writeRun(store), await writeRun(store)];
    await store.close();
    changed(folder, `DELETE FROM runs WHERE run = '${lost}'`);
    const reader = await openStore(folder);
    const damaged = [{ run: lost, state: 'damaged' }];
    expect(await reader.list({ runs: [lost] })).toMatchObject(damaged);
    expect(await reader.list({ prefix: lost.slice(0, 12), most: 2 })).toMatchObject(damaged);
    // Only a page that has room for all runs is compared with all frames.
    const states = async (most: number) => (await reader.list({ most })).map(({ run, state }) => [run, state]);
    expect(await states(9)).toContainEqual([lost, 'damaged']);
    expect(await states(1)).toEqual([[last, 'interrupted']]);
    await reader.rebuild();
    expect((await reader.list()).map(({ run }) => run)).toEqual([last, lost, first]);
  });

  test('is listed after runs that began when its head was last written, or later', async () => {
    const { folder, newer } = await crashedWorkspace();
    rmSync(join(folder, wal));
    const [name] = readdirSync(join(folder, 'heads'));
    utimesSync(join(folder, 'heads', name!), 5, 5);
    const store = await openStore(folder);
    const run = newRun();
    const log = await store.acquireRun(run);
    log.append(framesOf(run, 0, 6000).open());
    await log.close();
    expect((await store.list()).map((one) => one.run).slice(0, 3)).toEqual([run, newer[1], newer[0]]);
  });

  test('is listed after a run whose head the same process wrote later, however long that run continues', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const lost = await writeRun(store);
    const later = await writeSlowly(store, Date.now() + 1000);
    const image = newFolder();
    cpSync(folder, image, { recursive: true });
    changed(image, `DELETE FROM frames WHERE run = '${lost}'; DELETE FROM runs WHERE run = '${lost}'`);
    const [name] = readdirSync(join(image, 'heads'));
    const muchLater = Date.now() / 1000 + 3600;
    utimesSync(join(image, 'heads', name!), muchLater, muchLater);
    expect((await listIn(image)).map(({ run, state }) => [run, state])).toEqual([
      [later, 'interrupted'],
      [lost, 'damaged'],
    ]);
  });

  test('is never the workspace log', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    await store.appendRecord({ type: 'delete', conversation: { agent: 'a', name: 'b' } } as never);
    const image = newFolder();
    cpSync(folder, image, { recursive: true });
    rmSync(join(image, wal));
    expect(await listIn(image)).toEqual([]);
  });
});

test('whatever is cut from the write-ahead log, exactly the unreadable runs are listed as damaged', async () => {
  const { folder, older, newer } = await crashedWorkspace();
  const bytes = readFileSync(join(folder, wal));
  const seen = { damaged: 0, whole: 0, partly: 0 };
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length), async (length) => {
      const image = newFolder();
      cpSync(folder, image, { recursive: true });
      writeFileSync(join(image, wal), bytes.subarray(0, length));
      const store = await openSqliteStore(image);
      try {
        const states = new Map((await store.list()).map(({ run, state }) => [run, state]));
        expect([...states.keys()].toSorted()).toEqual([older, ...newer].toSorted());
        for (const [run, state] of states) {
          const whole = await store.read(run).then(
            () => true,
            () => false,
          );
          expect(state === 'damaged').toBe(!whole);
          if (state === 'damaged' && (await store.inspect(run)).frames.length > 0) seen.partly += 1;
          seen[whole ? 'whole' : 'damaged'] += 1;
        }
      } finally {
        await store.close();
      }
    }),
    { numRuns: 40 },
  );
  expect(seen.damaged).toBeGreaterThan(0);
  expect(seen.partly).toBeGreaterThan(0);
  expect(seen.whole).toBeGreaterThan(0);
});

test.each([
  ['has lost frames at its end', (run: RunId) => `DELETE FROM frames WHERE run = '${run}' AND no > 1`],
  ['has lost all frames', (run: RunId) => `DELETE FROM frames WHERE run = '${run}'`],
  ['has another last frame', (run: RunId) => `UPDATE frames SET hash = 'x' WHERE run = '${run}' AND no = 3`],
  ['has more frames than the list says', (run: RunId) => `UPDATE runs SET frames = 2 WHERE run = '${run}'`],
])('a listed run that %s is damaged, and keeps its listed details', async (_what, sql) => {
  const folder = newFolder();
  const store = await openStore(folder);
  const runs = [await writeRun(store), await writeRun(store)];
  await store.close();
  const before = await listIn(folder);
  changed(folder, sql(runs[0]!));
  const after = await listIn(folder);
  expect(after).toEqual(before.map((one) => (one.run === runs[0] ? { ...one, state: 'damaged' } : one)));
});

// invariant: list-compares-tails
test('the list does not read the middle of a log: damage there is found when the run is read', async () => {
  const { folder, older } = await crashedWorkspace();
  const before = await listIn(folder);
  changed(folder, `UPDATE frames SET body = '{}' WHERE run = '${older}' AND no = 1`);
  expect(await listIn(folder)).toEqual(before);
  await expect((await openStore(folder)).read(older)).rejects.toMatchObject({ code: 'store_damaged' });
});

// invariant: list-read-last
test('a run that another process is writing is never listed as damaged', async () => {
  const folder = newFolder();
  const other = startProcess('append', folder, newRun());
  const store = await openStore(folder);
  for (let no = Number(await other.line()); no < 60; no = Number(await other.line()))
    for (const { state } of await store.list()) expect(state).toBe('running');
});

test('a list whose frames cannot be read still names the runs', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const runs = [];
  for (let nth = 0; nth < 3; nth++) runs.push(await writeRun(store, 3, 'x'.repeat(5000)));
  await store.close();
  const rootPage = ((): number => {
    using open = new DatabaseSync(join(folder, database), { readOnly: true });
    return Number(open.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'frames'").get()?.['rootpage']);
  })();
  const image = newFolder();
  cpSync(folder, image, { recursive: true });
  copyFileSync(join(folder, database), join(image, database));
  const bytes = readFileSync(join(image, database));
  bytes.fill(0xff, (rootPage - 1) * 4096, rootPage * 4096);
  writeFileSync(join(image, database), bytes);
  expect((await listIn(image)).map(({ run, state }) => [run, state])).toEqual(
    runs.toReversed().map((run) => [run, 'damaged']),
  );
});
