import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, startProcess, writeRun } from './fixture.ts';

// invariant: turns-end-with-process
test('everything acknowledged before a kill is there after it, and others can write', async () => {
  const folder = newFolder();
  const run = newRun();
  const other = startProcess('append', folder, run);
  let acknowledged = -1;
  while (acknowledged < 40) acknowledged = Number(await other.line());
  await other.kill();
  for (let line = await other.line(); line !== undefined; line = await other.line()) acknowledged = Number(line);
  const store = await openStore(folder);
  await writeRun(store);
  const frames = await store.read(run);
  expect(frames.length).toBeGreaterThan(acknowledged);
  expect(frames.map(({ no }) => no)).toEqual(frames.map((_, at) => at));
});

// invariant: database-created-concurrently
test('processes create a workspace and append to it at the same time', async () => {
  const folder = newFolder();
  const runs = [newRun(), newRun(), newRun()];
  const others = runs.map((run) => startProcess('count', folder, run, '50'));
  const store = await openStore(folder);
  const own = await Promise.all(Array.from({ length: 20 }, async () => writeRun(store, 49)));
  expect(await Promise.all(others.map((other) => other.ended()))).toEqual([0, 0, 0]);
  for (const run of [...runs, ...own]) expect(await store.read(run)).toHaveLength(50);
  expect(await store.list()).toHaveLength(23);
});

test('a run of a live process is refused, naming that process', async () => {
  const folder = newFolder();
  const run = newRun();
  const other = startProcess('hold', folder, run);
  await other.line();
  const store = await openStore(folder);
  await expect(store.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
  await expect(store.acquireRun(run)).rejects.toThrow(`process ${other.pid} on ${hostname()} since 20`);
  expect((await store.list())[0]).toMatchObject({ state: 'running' });
  expect((await store.list())[0]!.owner).toContain(`process ${other.pid} on`);
});

test('a run whose process was killed is interrupted, and another process continues it', async () => {
  const folder = newFolder();
  const run = newRun();
  const other = startProcess('hold', folder, run);
  await other.line();
  await other.kill();
  const store = await openStore(folder);
  expect((await store.list())[0]).toMatchObject({ state: 'interrupted', owner: null });
  const log = await store.acquireRun(run);
  log.append(framesOf(run, 1).step());
  await log.close();
  expect(await store.read(run)).toHaveLength(2);
});

test.skipIf(process.platform !== 'linux')('a later process with the same pid is not the owner', async () => {
  const folder = newFolder();
  const run = newRun();
  const other = startProcess('hold', folder, run);
  await other.line();
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  database.exec("UPDATE owners SET started = '1' || started");
  database.close();
  const log = await (await openStore(folder)).acquireRun(run);
  expect(log.durable()).toBeUndefined();
});

describe('a run whose owner is on another machine', () => {
  /** Makes the owner look like a process on another machine, so it is unknown whether it is alive. */
  const elsewhere = async () => {
    const folder = newFolder();
    const run = newRun();
    const other = startProcess('hold', folder, run);
    await other.line();
    await other.kill();
    using database = new DatabaseSync(join(folder, 'cloister.db'));
    database.exec("UPDATE owners SET host = 'elsewhere'");
    return { run, store: await openStore(folder), pid: other.pid };
  };

  test('is treated as running, with an error that says what cannot be known', async () => {
    const { store, run, pid } = await elsewhere();
    await expect(store.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
    const [listed] = await store.list();
    expect(listed).toMatchObject({ state: 'running', elsewhere: true });
    expect(listed!.owner).toMatch(
      new RegExp(
        `^process ${pid} on another machine, elsewhere, since 20\\S+; whether it is alive cannot be checked$`,
        'u',
      ),
    );
  });

  test('is given to the process that takes it over, and continues where it was', async () => {
    const { store, run } = await elsewhere();
    const log = await store.acquireRun(run, { takeOver: true });
    log.append(framesOf(run, 1).step());
    await log.close();
    expect(await store.read(run)).toHaveLength(2);
    expect((await store.list())[0]).toMatchObject({ state: 'interrupted', owner: null });
  });

  test('is lost to the original process if it is still alive: it can no longer append', async () => {
    const folder = newFolder();
    const run = newRun();
    const theirs = await openStore(folder);
    const old = await theirs.acquireRun(run);
    const make = framesOf(run);
    old.append(make.open());
    await old.durable();
    {
      using database = new DatabaseSync(join(folder, 'cloister.db'));
      database.exec("UPDATE owners SET host = 'elsewhere'");
    }
    const ours = await openStore(folder);
    const log = await ours.acquireRun(run, { takeOver: true });
    const lost: string[] = [];
    old.onFailure?.(({ code }) => lost.push(code));
    // Before the new owner has written anything.
    const frame = make.step();
    old.append({ ...frame, at: 1 });
    await expect(old.durable()).rejects.toMatchObject({ code: 'run_lost' });
    expect(lost).toEqual(['run_lost']);
    log.append(frame);
    await log.durable();
    await old.close().catch(() => undefined);
    log.append(make.close());
    await log.close();
    expect((await ours.read(run)).slice(1)).toMatchObject([frame, { no: 2 }]);
  });

  test('is lost also if the new owner has released it without writing anything', async () => {
    const folder = newFolder();
    const run = newRun();
    const make = framesOf(run);
    const old = await (await openStore(folder)).acquireRun(run);
    old.append(make.open());
    await old.durable();
    {
      using database = new DatabaseSync(join(folder, 'cloister.db'));
      database.exec("UPDATE owners SET host = 'elsewhere'");
    }
    const ours = await openStore(folder);
    await (await ours.acquireRun(run, { takeOver: true })).close();
    old.append(make.step());
    await expect(old.durable()).rejects.toMatchObject({ code: 'run_lost' });
    expect(await ours.read(run)).toHaveLength(1);
  });
});

test('no process takes over a run from one that is known to be alive on this machine', async () => {
  const folder = newFolder();
  const run = newRun();
  await startProcess('hold', folder, run).line();
  const store = await openStore(folder);
  await expect(store.acquireRun(run, { takeOver: true })).rejects.toMatchObject({ code: 'run_owned' });
  const [one] = await store.list();
  expect(one).toMatchObject({ state: 'running' });
  expect(one).not.toHaveProperty('elsewhere');
});

test('two stores of one process do not share a run', async () => {
  const folder = newFolder();
  const run = newRun();
  const [one, other] = [await openStore(folder), await openStore(folder)];
  await one.acquireRun(run);
  await expect(other.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
  await one.close();
  await other.acquireRun(run);
});

test('of two stores that request a run simultaneously, one gets it', async () => {
  const folder = newFolder();
  const run = newRun();
  const stores = [await openStore(folder), await openStore(folder), await openStore(folder)];
  const results = await Promise.allSettled(stores.map(async (store) => store.acquireRun(run)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

// invariant: writer-batch-keeps-process
test('an idle store does not keep the process alive, but a pending frame does', async () => {
  const folder = newFolder();
  const run = newRun();
  expect(await startProcess('leave', folder, run).ended()).toBe(0);
  expect(await (await openStore(folder)).read(run)).toHaveLength(1);
});
