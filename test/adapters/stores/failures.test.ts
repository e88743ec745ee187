import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import type { RunLog } from '#contracts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, writeRun } from './fixture.ts';

const failed = { code: 'store_failed' };

/** Appends until the store refuses; returns the number of acknowledged frames. */
const fill = async (log: RunLog, make: ReturnType<typeof framesOf>): Promise<number> => {
  log.append(make.open());
  for (let kept = 0; kept < 10_000; kept++) {
    try {
      await log.durable();
    } catch {
      return kept;
    }
    log.append(make.step('x'.repeat(20_000)));
  }
  return Number.NaN;
};

describe('a failed write', () => {
  // invariants: failed-batch-fails-its-runs, batch-failure-leaves-nothing, heads-line-is-true
  test('fails the runs with frames in the batch permanently, and no later run', async () => {
    const store = await openStore(undefined, { faults: { failTransactions: [3] } });
    const [one, other, idle] = [newRun(), newRun(), newRun()];
    const [oneLog, otherLog, idleLog] = await Promise.all([one, other, idle].map(async (run) => store.acquireRun(run)));
    const [make, otherMake] = [framesOf(one), framesOf(other)];
    const heard: string[] = [];
    for (const log of [oneLog!, idleLog!]) log.onFailure?.(({ code }) => heard.push(code));
    oneLog!.append(make.open());
    await oneLog!.durable();

    oneLog!.append(make.step());
    otherLog!.append(otherMake.open());
    await expect(oneLog!.durable()).rejects.toMatchObject(failed);
    await expect(otherLog!.durable()).rejects.toThrow('injected');
    expect(heard).toEqual(['store_failed']);

    oneLog!.append(make.step());
    await expect(oneLog!.durable()).rejects.toMatchObject(failed);
    idleLog!.append(framesOf(idle).open());
    await idleLog!.durable();
    expect(await store.read(one)).toHaveLength(1);
    await expect(store.read(other)).rejects.toMatchObject({ code: 'run_unknown' });
    await writeRun(store);
  });

  test('leaves a run that can be released and continued from what was stored', async () => {
    const store = await openStore(undefined, { faults: { failTransactions: [3] } });
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    await log.durable();
    log.append(make.step());
    await expect(log.close()).rejects.toMatchObject(failed);
    const again = await store.acquireRun(run);
    again.append(framesOf(run, 1).step());
    await again.close();
    expect(await store.read(run)).toHaveLength(2);
  });

  // invariant: released-in-the-end
  test('leaves a run that is released although the first tries could not be written', async () => {
    const store = await openStore(undefined, { faults: { failTransactions: [3, 4] } });
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    await log.durable();
    log.append(make.step());
    await expect(log.close()).rejects.toMatchObject(failed);
    await expect.poll(async () => (await store.list())[0]?.state, { timeout: 20_000 }).toBe('interrupted');
  });

  test('also fails the frames that were appended while it was in flight', async () => {
    const store = await openStore(undefined, { faults: { failTransactions: [2] } });
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    await new Promise((resolve) => void setImmediate(resolve));
    log.append(make.step());
    await expect(log.durable()).rejects.toThrow('injected');
    await expect(store.read(run)).rejects.toMatchObject({ code: 'run_unknown' });
  });

  test('causes no unhandled rejection when nothing awaits it', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const store = await openStore(undefined, { faults: { failTransactions: [2] } });
    const run = newRun();
    const log = await store.acquireRun(run);
    log.append(framesOf(run).open());
    void log.durable();
    await expect(store.acquireRun(newRun())).rejects.toMatchObject(failed);
    void log.durable();
    await new Promise((resolve) => void setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });

  test('rejects storing a blob and acquiring a run', async () => {
    const store = await openStore(undefined, { faults: { failTransactions: [1, 2] } });
    await expect(store.putBlob(new Uint8Array(3))).rejects.toMatchObject(failed);
    const run = newRun();
    await expect(store.acquireRun(run)).rejects.toMatchObject(failed);
    await store.acquireRun(run);
  });
});

test('a full database keeps what was acknowledged', async () => {
  const folder = newFolder();
  const store = await openStore(folder, { faults: { pagesMax: 60 } });
  const run = newRun();
  const log = await store.acquireRun(run);
  const kept = await fill(log, framesOf(run));
  expect(kept).toBeGreaterThan(3);
  await expect(log.durable()).rejects.toThrow('The disk is full. Free some space');
  expect(await store.read(run)).toHaveLength(kept);
  await store.close();
  expect(await (await openStore(folder)).read(run)).toHaveLength(kept);
});

const canMount = (): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'none', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test.skipIf(!canMount())('a full disk fails its run, and the next run works once there is space', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', folder]);
  onTestFinished(() => {
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(2_000_000));
  const store = await openStore(folder);
  const run = newRun();
  const log = await store.acquireRun(run);
  const kept = await fill(log, framesOf(run));
  expect(kept).toBeGreaterThan(3);
  await expect(log.durable()).rejects.toMatchObject(failed);
  rmSync(join(folder, 'ballast'));
  expect(await store.read(run)).toHaveLength(kept);
  await expect(log.close()).rejects.toMatchObject(failed);
  const later = await writeRun(store, 5, 'x'.repeat(20_000));
  expect(await store.read(later)).toHaveLength(6);
  await (await store.acquireRun(run)).close();
  await store.close();
});

// invariant: batch-failure-leaves-nothing
test('a database locked beyond the timeout fails the batch, and the next batch works', async () => {
  const folder = newFolder();
  const store = await openStore(folder, { busyTimeoutMs: 20 });
  const run = newRun();
  const log = await store.acquireRun(run);
  const locker = new DatabaseSync(join(folder, 'cloister.db'));
  locker.exec('BEGIN IMMEDIATE');
  log.append(framesOf(run).open());
  await expect(log.durable()).rejects.toThrow('locked');
  await expect(store.acquireRun(newRun())).rejects.toMatchObject({ code: 'store_busy' });
  locker.exec('ROLLBACK');
  locker.close();
  await writeRun(store);
});

test('a removed database fails the runs it held, and new runs create a new one', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const [run, quiet] = [newRun(), newRun()];
  const [log, quietLog] = await Promise.all([run, quiet].map(async (one) => store.acquireRun(one)));
  quietLog!.append(framesOf(quiet).open());
  await quietLog!.durable();
  rmSync(folder, { recursive: true });
  log!.append(framesOf(run).open());
  await expect(log!.durable()).rejects.toThrow('removed');
  const later = await writeRun(store);
  expect(await store.read(later)).toHaveLength(4);
  quietLog!.append(framesOf(quiet, 1).step());
  await expect(quietLog!.durable()).rejects.toMatchObject({ code: 'run_lost' });
});

test('what cannot be read is told as that, not as a workspace that cannot be written', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = await writeRun(store);
  rmSync(join(folder, 'cloister.db'));
  mkdirSync(join(folder, 'cloister.db'));
  const reads: readonly (() => Promise<unknown>)[] = [
    () => store.read(run),
    () => store.inspect(run),
    () => store.list(),
    () => store.list({ runs: [run] }),
    () => store.getBlob('0'.repeat(64)),
    () => store.readWorkspaceLog(),
    () => store.signals(),
  ];
  const codes = await Promise.all(
    reads.map((read) =>
      read().then(
        () => 'read',
        ({ code }: { readonly code: string }) => code,
      ),
    ),
  );
  expect(codes).toEqual(reads.map(() => 'store_unreadable'));
});

test('closing after a failure does not recreate the database', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = newRun();
  const log = await store.acquireRun(run);
  rmSync(folder, { recursive: true });
  log.append(framesOf(run).open());
  await expect(log.durable()).rejects.toThrow('removed');
  await store.close();
  expect(existsSync(folder)).toBe(false);
});

test('a run whose release failed is released when the store closes', async () => {
  const folder = newFolder();
  const store = await openStore(folder, { faults: { failTransactions: [3] } });
  const run = newRun();
  const log = await store.acquireRun(run);
  log.append(framesOf(run).open());
  await log.durable();
  await expect(log.close()).rejects.toMatchObject(failed);
  await store.close();
  const next = await openStore(folder);
  await (await next.acquireRun(run)).close();
});

test('a gap in the numbers fails only that run', async () => {
  const store = await openStore();
  const [run, other] = [newRun(), newRun()];
  const [log, otherLog] = await Promise.all([run, other].map(async (one) => store.acquireRun(one)));
  log!.append(framesOf(run, 1).step());
  otherLog!.append(framesOf(other).open());
  await expect(log!.durable()).rejects.toThrow('does not follow');
  await otherLog!.durable();
  expect(await store.read(other)).toHaveLength(1);
});

// invariant: writer-answers-every-batch
test('if the writing thread dies, pending writes fail and a new thread takes over', async () => {
  const store = await openStore(undefined, { faults: { dieAt: 3 } });
  const [run, other] = [newRun(), newRun()];
  const [log, otherLog] = await Promise.all([run, other].map(async (one) => store.acquireRun(one)));
  const otherMake = framesOf(other);
  otherLog!.append(otherMake.open());
  await otherLog!.durable();
  log!.append(framesOf(run).open());
  await expect(log!.durable()).rejects.toThrow('thread');
  otherLog!.append(otherMake.step());
  await otherLog!.durable();
  expect(await store.read(other)).toHaveLength(2);
});

test('a folder that cannot be created is reported by name', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'file'), '');
  const store = await openStore(join(folder, 'file', 'workspace'));
  expect(await store.list()).toEqual([]);
  await expect(store.acquireRun(newRun())).rejects.toMatchObject(failed);
});

test('a closed store refuses calls, and its logs fail', async () => {
  const store = await openStore();
  const run = newRun();
  const log = await store.acquireRun(run);
  await store.close();
  log.append(framesOf(run).open());
  await expect(log.durable()).rejects.toThrow('closed');
  await expect(log.close()).rejects.toMatchObject(failed);
  await expect(store.acquireRun(newRun())).rejects.toMatchObject(failed);
  await expect(store.list()).rejects.toMatchObject(failed);
});

test('a workspace that is a file, or that cannot be created, is refused immediately', async () => {
  await expect(openSqliteStore('/etc/passwd')).rejects.toMatchObject({ failure: { code: 'store_failed' } });
  const store = await openSqliteStore('/proc/cloister/no');
  await expect(store.acquireRun(newRun())).rejects.toMatchObject({ failure: { code: 'store_failed' } });
  await store.close();
});
