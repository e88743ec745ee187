// SQLite silently ignores a damaged end of its write-ahead log. What was acknowledged is therefore also recorded beside it.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import { checkChain, noTail, recordHash } from '#testing/adapters/stores';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { testRuns } from '../../test-seed.ts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, startProcess, writeRun } from './fixture.ts';

/** Files of a workspace by path, as a crash would leave them. */
type Image = ReadonlyMap<string, Buffer>;
type Written = ReadonlyMap<RunId, readonly Frame[]>;

const wal = 'cloister.db-wal';

const imageOf = (folder: string): Image => {
  const names = ['cloister.db', wal, ...headsIn(folder).map((name) => `heads/${name}`)];
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
};

const headsIn = (folder: string): string[] =>
  existsSync(join(folder, 'heads')) ? readdirSync(join(folder, 'heads')) : [];

const headsName = (image: Image): string => [...image.keys()].find((name) => name.startsWith('heads/'))!;

/** The same files in a new folder, some of them changed; a change to undefined leaves the file out. */
const writeImage = (image: Image, changes: Readonly<Record<string, Buffer | undefined>> = {}): string => {
  const folder = newFolder();
  mkdirSync(join(folder, 'heads'), { recursive: true });
  for (const [name, bytes] of new Map([...image, ...Object.entries(changes)]))
    if (bytes !== undefined) writeFileSync(join(folder, name), bytes);
  return folder;
};

const flipped = (bytes: Buffer, bit: number): Buffer => {
  const changed = Buffer.from(bytes);
  changed[bit >> 3]! ^= 1 << (bit & 7);
  return changed;
};

const zeroed = (bytes: Buffer, from: number, length = bytes.length): Buffer =>
  Buffer.from(bytes).fill(0, from, Math.min(from + length, bytes.length));

/** A reader that keeps seeing the database as it is now, so the write-ahead log cannot be emptied. */
const holdReadTransaction = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, 'cloister.db'), { readOnly: true });
  database.exec('BEGIN');
  database.prepare('SELECT * FROM runs').all();
  return database;
};

/** Five runs in many transactions, one of them written before the rest began; the store is still open. */
const crashImage = async (): Promise<{ image: Image; written: Written }> => {
  const folder = newFolder();
  const store = await openStore(folder);
  const early = await writeRun(store, 3);
  const runs = Array.from({ length: 4 }, newRun);
  const logs = await Promise.all(runs.map(async (run) => ({ log: await store.acquireRun(run), make: framesOf(run) })));
  for (let round = 0; round < 8; round++) {
    for (const [which, { log, make }] of logs.entries()) {
      if (round === 0) log.append(make.open());
      else if (round % (which + 1) === 0) log.append(make.step());
    }
    await Promise.all(logs.map(async ({ log }) => log.durable()));
  }
  await logs[0]!.log.close();
  const written = new Map<RunId, readonly Frame[]>();
  for (const run of [early, ...runs]) written.set(run, await store.read(run));
  return { image: imageOf(folder), written };
};

type CheckResult = { readonly whole: number; readonly named: readonly string[] };

/** Every run is there as it was written, or its damage is reported; anything else fails. */
const check = async (folder: string, written: Written): Promise<CheckResult> => {
  const store = await openSqliteStore(folder);
  const named: string[] = [];
  let whole = 0;
  try {
    for (const [run, frames] of written) {
      const found = await store.read(run).catch((error: unknown) => error);
      if (found instanceof CloisterError) {
        expect(found.code).toBe('store_damaged');
        expect(found.message).toContain(run);
        named.push(found.failure.detail ?? '');
      } else {
        // Checked by hand because it is called thousands of times: `expect` runs only where something differs.
        if (!isDeepStrictEqual(found, frames)) expect(found).toEqual(frames);
        whole += 1;
      }
    }
  } finally {
    await store.close();
  }
  return { whole, named };
};

describe('after a crash, what was acknowledged is there or is reported as missing', () => {
  test('whichever bit of the write-ahead log is flipped, and wherever it is truncated', async () => {
    const { image, written } = await crashImage();
    const bytes = image.get(wal)!;
    const changed = fc.oneof(
      fc.nat(bytes.length * 8 - 1).map((bit) => flipped(bytes, bit)),
      fc.nat(bytes.length - 1).map((length) => bytes.subarray(0, length)),
      fc.nat(bytes.length - 1).map((from) => zeroed(bytes, from, 4096)),
    );
    const seen = { whole: 0, named: 0 };
    await fc.assert(
      fc.asyncProperty(changed, async (other) => {
        const { whole, named } = await check(writeImage(image, { [wal]: other }), written);
        seen.whole += whole;
        seen.named += named.length;
      }),
      { numRuns: testRuns(300) },
    );
    expect(seen.whole).toBeGreaterThan(0);
    expect(seen.named).toBeGreaterThan(0);
  });

  test('without a write-ahead log, run by run and frame by frame', async () => {
    const { image, written } = await crashImage();
    const { named } = await check(writeImage(image, { [wal]: undefined }), written);
    expect(named).toEqual(
      [...written].map(([run, { length }]) => `frames 0 to ${length - 1} of run ${run} are missing`),
    );
  });

  test('without a database', async () => {
    const { image, written } = await crashImage();
    expect((await check(writeImage(image, { 'cloister.db': undefined, [wal]: undefined }), written)).whole).toBe(0);
  });

  // invariant: heads-pruned-with-empty-wal
  test('with older pages in a write-ahead log that was checkpointed and then damaged', async () => {
    const folder = newFolder();
    const store = await openStore(folder, { busyTimeoutMs: 1000 });
    // Enough that SQLite checkpoints by itself, and continues behind the checkpointed part.
    const runs = [await writeRun(store, 20), await writeRun(store, 150, 'x'.repeat(30_000)), await writeRun(store, 20)];
    const written = new Map(await Promise.all(runs.map(async (run) => [run, await store.read(run)] as const)));
    const image = imageOf(folder);
    const bytes = image.get(wal)!;
    let named = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length * 8 - 1), async (bit) => {
        named += (await check(writeImage(image, { [wal]: flipped(bytes, bit) }), written)).named.length;
      }),
      { numRuns: 20 },
    );
    expect(named).toBeGreaterThan(0);
  });
});

describe('a run that has lost its end', () => {
  /** Its process was killed, and then the write-ahead log was truncated. */
  const cut = async () => {
    const crashed = newFolder();
    const run = newRun();
    const other = startProcess('append', crashed, run);
    while (Number(await other.line()) < 10);
    await other.kill();
    const image = imageOf(crashed);
    const bytes = image.get(wal)!;
    for (let length = bytes.length; length > 0; length -= 4096) {
      const folder = writeImage(image, { [wal]: bytes.subarray(0, length) });
      const store = await openStore(folder);
      const { frames, problems } = await store.inspect(run);
      if (problems.length > 0) return { folder, store, run, kept: frames.length, problems };
      await store.close();
    }
    throw new Error('Nothing was lost.');
  };

  test('is not continued as if the lost frames had never existed', async () => {
    const { store, run, kept } = await cut();
    expect(kept).toBeGreaterThan(3);
    const log = await store.acquireRun(run);
    log.append(framesOf(run, kept).step());
    await expect(log.durable()).rejects.toThrow('the last one acknowledged');
    expect((await store.inspect(run)).frames).toHaveLength(kept);
  });

  test('and was continued by a writer that ignores heads has a different frame than the acknowledged one', () => {
    const run = newRun();
    const make = framesOf(run);
    const bodies = [make.open(), make.step(), make.step('another')].map((frame) => JSON.stringify(frame));
    const hashes = bodies.reduce<string[]>((all, body) => [...all, recordHash(all.at(-1) ?? noTail.hash, body)], []);
    const rows = bodies.map((body, no) => ({ no, body, hash: hashes[no] }));
    const lost = recordHash(hashes[1]!, 'what was acknowledged');
    expect(checkChain(run, rows, undefined, [{ no: 1, hash: hashes[1]! }]).problems).toEqual([]);
    expect(checkChain(run, rows, undefined, [{ no: 2, hash: lost }]).problems).toEqual([
      `frame 2 of run ${run} is damaged`,
    ]);
  });

  // invariant: heads-removed-when-found
  test('is still recognised after other runs were written and the store was closed', async () => {
    const { folder, store, run, problems } = await cut();
    const later = await writeRun(store);
    await store.close();
    const next = await openStore(folder);
    expect(await next.read(later)).toHaveLength(4);
    expect((await next.inspect(run)).problems).toEqual(problems);
    await expect(next.rebuild(run)).rejects.toMatchObject({ code: 'store_damaged' });
  });
});

describe('heads give a lower bound of what was there', () => {
  // invariant: heads-lower-bound
  test('however many of them a power loss takes, the remaining run is readable', async () => {
    const { image, written } = await crashImage();
    const name = headsName(image);
    const bytes = image.get(name)!;
    const older = fc.oneof(
      fc.nat(bytes.length).map((length) => bytes.subarray(0, length)),
      fc.nat(bytes.length).map((from) => zeroed(bytes, from)),
      fc.nat(bytes.length).map((from) => zeroed(bytes, from, 512)),
    );
    await fc.assert(
      fc.asyncProperty(older, async (kept) => {
        expect((await check(writeImage(image, { [name]: kept }), written)).named).toEqual([]);
      }),
      { numRuns: testRuns(100) },
    );
    expect((await check(writeImage(image, { [name]: undefined }), written)).named).toEqual([]);
  });

  test('one flipped bit in them invents nothing, and is reported where it hides the end of a run', async () => {
    const { image, written } = await crashImage();
    const name = headsName(image);
    const bytes = image.get(name)!;
    // The last line of each run is among these, followed by the final line break.
    const tail = bytes.length - 600;
    const all: string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: tail * 8, max: bytes.length * 8 - 9 }), async (bit) => {
        const { named } = await check(writeImage(image, { [name]: flipped(bytes, bit) }), written);
        for (const words of named)
          expect(words).toMatch(/^heads\/\S+ has an unreadable line that may be about run \S+: /u);
        all.push(...named);
      }),
      { numRuns: testRuns(150) },
    );
    expect(all.length).toBeGreaterThan(0);
  });

  test('a line cut short by a full disk or a dying thread does not spoil the lines after it', async () => {
    const folder = newFolder();
    const store = await openStore(folder, { faults: { failTransactions: [3] } });
    await writeRun(store);
    await expect(store.acquireRun(newRun())).rejects.toThrow('injected');
    const path = join(folder, 'heads', headsIn(folder)[0]!);
    writeFileSync(path, readFileSync(path, 'latin1') + '0123abcd 17 ');
    const run = await writeRun(store);
    const image = imageOf(folder);
    const written = new Map([[run, []]]);
    const { named } = await check(writeImage(image, { [wal]: undefined }), written);
    expect(named).toEqual([`frames 0 to 3 of run ${run} are missing`]);
  });

  // invariant: commit-noted-before-acknowledged
  test('a batch whose heads cannot be written is not acknowledged', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = newRun();
    const log = await store.acquireRun(run);
    symlinkSync(newFolder(), join(folder, 'heads'));
    log.append(framesOf(run).open());
    await expect(log.durable()).rejects.toMatchObject({ code: 'store_failed' });
    // It was committed but not acknowledged: the same as after a commit that fails but was stored.
    expect(await store.read(run)).toHaveLength(1);
  });
});

describe('heads files', () => {
  test('appear with the first frame and disappear when the store closes', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = newRun();
    const log = await store.acquireRun(run);
    await store.putBlob(Buffer.from('bytes'));
    expect(headsIn(folder)).toEqual([]);
    log.append(framesOf(run).open());
    await log.durable();
    expect(headsIn(folder)).toHaveLength(1);
    expect(statSync(join(folder, 'heads', headsIn(folder)[0]!)).mode & 0o777).toBe(0o600);
    await store.close();
    expect(existsSync(join(folder, 'heads'))).toBe(false);
  });

  // invariant: heads-pruned-own-or-dead
  test('of a live process are left alone; those of a dead process are removed by the next store', async () => {
    const folder = newFolder();
    const other = startProcess('hold', folder, newRun());
    await other.line();
    const [theirs] = headsIn(folder);
    const store = await openStore(folder);
    await writeRun(store);
    expect(headsIn(folder)).toHaveLength(2);
    await store.close();
    expect(headsIn(folder)).toContain(theirs);
    await other.kill();
    const next = await openStore(folder);
    await writeRun(next);
    await next.close();
    expect(readdirSync(folder)).toEqual(['cloister.db']);
  });

  // invariant: heads-pruned-with-empty-wal
  test('remain while a reader still sees an older state, because the write-ahead log remains too', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    await writeRun(store);
    using _reader = holdReadTransaction(folder);
    const run = await writeRun(store);
    await store.close();
    const image = imageOf(folder);
    expect(headsName(image)).toBeDefined();
    const { named } = await check(writeImage(image, { [wal]: undefined }), new Map([[run, []]]));
    expect(named).toHaveLength(1);
  });

  test('stay small, however many frames are recorded', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const runs = Array.from({ length: 100 }, newRun);
    const logs = await Promise.all(
      runs.map(async (run) => ({ log: await store.acquireRun(run), make: framesOf(run) })),
    );
    using _reader = holdReadTransaction(folder);
    for (let round = 0; round < 50; round++) {
      for (const { log, make } of logs) log.append(round === 0 ? make.open() : make.step());
      await Promise.all(logs.map(async ({ log }) => log.durable()));
    }
    const [name] = headsIn(folder);
    expect(statSync(join(folder, 'heads', name!)).size).toBeLessThan(256 * 1024);
    const { named } = await check(
      writeImage(imageOf(folder), { [wal]: undefined }),
      new Map(runs.map((run) => [run, []])),
    );
    expect(named).toHaveLength(100);
    for (const words of named) expect(words).toContain('to 49 of run');
  });

  test('of very many runs are removed as soon as the database alone holds them all', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const runs = Array.from({ length: 2500 }, newRun);
    const logs = await Promise.all(runs.map(async (run) => store.acquireRun(run)));
    for (const [which, log] of logs.entries()) log.append(framesOf(runs[which]!).open());
    await Promise.all(logs.map(async (log) => log.durable()));
    expect(headsIn(folder)).toEqual([]);
    const alone = writeImage(imageOf(folder), { [wal]: undefined });
    const other = await openStore(alone);
    const read: number[] = [];
    for (const run of runs) read.push((await other.read(run)).length);
    expect(read).toEqual(runs.map(() => 1));
    // And the next frame creates a new file.
    logs[0]!.append(framesOf(runs[0]!, 1).step());
    await logs[0]!.durable();
    expect(headsIn(folder)).toHaveLength(1);
  });
});
