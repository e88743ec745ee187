// Nothing acknowledged changes or disappears unreported. SQLite itself verifies little: the hash chain does.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SQLInputValue } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '#adapters/stores';
import { checkChain, unpackRecord } from '#testing/adapters/stores';
import type { FrameRow } from '#testing/adapters/stores';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore, writeRun } from './fixture.ts';

const framesCount = 6;
const last = framesCount - 1;

/** A run of six frames, and a way to change stored data behind the store's back. `packed`: the frames are stored as they are written. */
const openDamage = async ({ packed = false } = {}) => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = await writeRun(store, last);
  const written = await store.read(run);
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  database.exec('PRAGMA synchronous = OFF');
  onTestFinished(() => database.close());
  const sql = (text: string, ...values: SQLInputValue[]) => database.prepare(text).all(...values);
  if (!packed) {
    database.function('unpacked', (stored) => unpackRecord(stored) as string);
    sql('UPDATE frames SET body = unpacked(body)');
  }

  /** What is found after a change, which is then undone. */
  const found = async (text: string, ...values: SQLInputValue[]): Promise<readonly string[]> => {
    const frames = sql('SELECT * FROM frames');
    const runs = sql('SELECT * FROM runs');
    sql(text, ...values);
    const { problems } = await store.inspect(run);
    const rejected = problems.length === 0 ? await store.read(run) : await store.read(run).catch((error) => error);
    expect(rejected).toEqual(
      problems.length === 0
        ? written
        : expect.objectContaining({
            failure: expect.objectContaining({ code: 'store_damaged', detail: problems.join('; ') }),
          }),
    );
    database.exec('DELETE FROM frames; DELETE FROM runs');
    for (const row of frames) sql('INSERT INTO frames VALUES (?, ?, ?, ?)', ...Object.values(row));
    for (const row of runs)
      sql(
        `INSERT INTO runs VALUES (${Object.keys(row)
          .map(() => '?')
          .join(', ')})`,
        ...Object.values(row),
      );
    return problems;
  };
  return { run, store, sql, found, folder };
};

const flipBit = (text: string, bit: number): Buffer => {
  const bytes = Buffer.from(text);
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes;
};

describe('one flipped bit', () => {
  test.for(['body', 'hash'] as const)(
    'anywhere in the %s of a frame is reported for that frame and no other',
    async (column) => {
      const { run, sql, found } = await openDamage();
      const texts = sql(`SELECT ${column} AS text FROM frames ORDER BY no`).map(({ text }) => String(text));
      const damaged = fc
        .nat(last)
        .chain((no) => fc.tuple(fc.constant(no), fc.nat(Buffer.byteLength(texts[no]!) * 8 - 1)));
      await fc.assert(
        fc.asyncProperty(damaged, async ([no, bit]) => {
          const text = flipBit(texts[no]!, bit);
          expect(await found(`UPDATE frames SET ${column} = CAST(? AS TEXT) WHERE no = ?`, text, no)).toEqual([
            `frame ${no} of run ${run} is damaged`,
          ]);
        }),
        { numRuns: 200 },
      );
    },
  );

  test('at any position of any frame is found in the chain itself', async () => {
    const { run, sql } = await openDamage();
    const rows = sql('SELECT no, body, hash FROM frames ORDER BY no') as FrameRow[];
    expect(checkChain(run, rows).problems).toEqual([]);
    const missed: string[] = [];
    for (const [no, row] of rows.entries()) {
      for (const column of ['body', 'hash'] as const) {
        const text = String(row[column]);
        for (let bit = 0; bit < Buffer.byteLength(text) * 8; bit++) {
          const { problems } = checkChain(run, rows.with(no, { ...row, [column]: flipBit(text, bit).toString() }));
          if (problems.join() !== `frame ${no} of run ${run} is damaged`) missed.push(`${no} ${column} ${bit}`);
        }
      }
    }
    expect(missed).toEqual([]);
  });

  test('in the recorded end is reported for the last frame or for the frames that seem to be missing', async () => {
    const { run, sql, found } = await openDamage();
    const head = String(sql('SELECT head FROM runs')[0]?.['head']);
    await fc.assert(
      fc.asyncProperty(fc.nat(head.length * 8 - 1), async (bit) => {
        expect(await found('UPDATE runs SET head = CAST(? AS TEXT)', flipBit(head, bit))).toEqual([
          `frame ${last} of run ${run} is damaged`,
        ]);
      }),
      { numRuns: 50 },
    );
    for (let bit = 0; bit < 16; bit++)
      expect(await found('UPDATE runs SET frames = ?', framesCount ^ (1 << bit))).toHaveLength(1);
  });

  test('anywhere in the file either leaves the run readable as written, or is reported as damage', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const run = await writeRun(store, last);
    const written = await store.read(run);
    await store.close();
    const bytes = readFileSync(join(folder, 'cloister.db'));
    let named = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length * 8 - 1), async (bit) => {
        const other = newFolder();
        mkdirSync(other);
        const changed = Buffer.from(bytes);
        changed[bit >> 3]! ^= 1 << (bit & 7);
        writeFileSync(join(other, 'cloister.db'), changed);
        const outcome = await readOnce(other, run).catch((error) => error);
        if (outcome instanceof CloisterError) {
          expect(outcome.code).toBe('store_damaged');
          named += 1;
        } else expect(outcome).toEqual(written);
      }),
      { numRuns: 200 },
    );
    expect(named).toBeGreaterThan(0);
  });
});

test('an altered table is damage, not a disk failure', async () => {
  const { run, store, sql, folder } = await openDamage();
  sql('ALTER TABLE frames RENAME COLUMN body TO text');
  await expect(store.read(run)).rejects.toMatchObject({ code: 'store_damaged' });
  await expect((await openStore(folder)).acquireRun(newRun())).rejects.toMatchObject({ code: 'store_damaged' });
});

describe('a deletion', () => {
  test('of any frames is reported for those frames only', async () => {
    const { run, found } = await openDamage();
    await fc.assert(
      fc.asyncProperty(fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 1 }), async (gone) => {
        expect(await found(`DELETE FROM frames WHERE no IN (${gone.join()})`)).toEqual(
          consecutiveRanges(gone).map(([from, to]) =>
            from === to
              ? `frame ${from} of run ${run} is missing`
              : `frames ${from} to ${to} of run ${run} are missing`,
          ),
        );
      }),
      { numRuns: 100 },
    );
  });

  test('of the entry in the list of runs is reported, since nothing else records how long the log was', async () => {
    const { run, store, sql, found } = await openDamage();
    const words = `run ${run} is missing from the list of runs: frames at its end may be missing too`;
    expect(await found('DELETE FROM runs')).toEqual([words]);
    sql('DELETE FROM runs');
    await store.rebuild(run);
    expect(await store.inspect(run)).toMatchObject({ problems: [] });
  });

  test('of everything about a run makes the run unknown', async () => {
    const { run, store, sql, folder } = await openDamage();
    await store.close();
    sql('DELETE FROM runs');
    sql('DELETE FROM frames');
    await expect((await openStore(folder)).read(run)).rejects.toMatchObject({ code: 'run_unknown' });
  });
});

describe('unacknowledged frames', () => {
  test('beyond the recorded end are reported', async () => {
    const { run, sql, found } = await openDamage();
    const [row] = sql('SELECT hash FROM frames WHERE no = 3');
    expect(await found('UPDATE runs SET frames = 4, head = ?', row!['hash']!)).toEqual([
      `run ${run} has frame 5, but the list of runs says it ends at frame 3`,
    ]);
  });

  test('with an impossible number are reported, and are not part of the run', async () => {
    const { run, store, sql, found } = await openDamage();
    const add = 'INSERT INTO frames SELECT run, ?, body, hash FROM frames WHERE no = 5';
    expect(await found(add, -1)).toEqual([`a record of run ${run} is out of sequence: its number is -1`]);
    expect(await found(add, 'six')).toEqual([`a record of run ${run} is out of sequence: its number is "six"`]);
    sql(add, 2.5);
    expect((await store.inspect(run)).frames).toHaveLength(framesCount);
  });

  test('in an uncommitted transaction are not read', async () => {
    const folder = newFolder();
    const store = await openStore(folder, { faults: { failTransactions: [3] } });
    const run = newRun();
    const make = framesOf(run);
    const log = await store.acquireRun(run);
    log.append(make.open());
    await log.durable();
    log.append(make.step());
    await expect(log.durable()).rejects.toThrow('injected');
    await store.close();
    expect(await (await openStore(folder)).inspect(run)).toMatchObject({ frames: [{ no: 0 }], problems: [] });
  });
});

const readOnce = async (folder: string, run: RunId): Promise<readonly Frame[]> => {
  const store = await openSqliteStore(folder);
  try {
    return await store.read(run);
  } finally {
    await store.close();
  }
};

/** Runs of consecutive numbers, as first and last. */
const consecutiveRanges = (numbers: readonly number[]): readonly (readonly [number, number])[] =>
  numbers
    .filter((no) => !numbers.includes(no - 1))
    .map((from) => {
      let to = from;
      while (numbers.includes(to + 1)) to += 1;
      return [from, to];
    });
