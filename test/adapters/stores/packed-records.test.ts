// Records are packed in the database: shorter, with the same text, each by itself, and gone when their run is deleted.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { migrateWorkspace } from '#adapters/stores';
import { sha256 } from '#base';
import type { Hash, RunId } from '#base';
import { checkChain, packRecord, recordHash, unpackRecord } from '#testing/adapters/stores';
import type { FrameRow, LogStore } from '#testing/adapters/stores';
import { recordDictionary } from '../../../src/adapters/stores/record-dictionary.ts';
import { deletionOf } from '../../conformance/deletions.ts';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore } from './fixture.ts';

const words = (count: number, from: number): string =>
  Array.from({ length: count }, (_, nth) => sha256(`${from + nth}`).slice(0, 7)).join(' ');

const recordRun = async (store: LogStore, run: RunId = newRun(), from = 0): Promise<RunId> => {
  const log = await store.acquireRun(run);
  const make = framesOf(run);
  log.append(make.open());
  for (let nth = 0; nth < 3; nth++) log.append(make.step(words(60, from + 100 * nth)));
  log.append(make.close());
  await log.close();
  return run;
};

const databaseIn = (folder: string): DatabaseSync => {
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  onTestFinished(() => database.close());
  return database;
};

type StoredRow = { readonly no: number; readonly body: string | Uint8Array; readonly hash: string };

const rowsIn = (database: DatabaseSync): readonly StoredRow[] =>
  database.prepare('SELECT no, body, hash FROM frames ORDER BY run, no').all() as never;

const textsOf = (rows: readonly StoredRow[]): readonly unknown[] => rows.map(({ body }) => unpackRecord(body));

describe('the text of a record', () => {
  // invariant: packed-text-identical
  test('is the same after packing, whatever it is', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.constantFrom(recordDictionary.slice(9, 900)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const text = JSON.stringify(parts);
        expect(unpackRecord(packRecord(text))).toBe(text);
      }),
    );
  });

  test('is stored as it is if it is short, very long, or that of a fork', () => {
    const usual = JSON.stringify({ text: 'no more is known. '.repeat(20) });
    expect(packRecord(usual)).toBeInstanceOf(Uint8Array);
    for (const text of [usual.slice(0, 100), usual.repeat(300), '€'.repeat(30_000), `{"type":"fork"}${usual}`])
      expect(packRecord(text)).toBe(text);
  });

  // invariant: dictionary-frozen
  test('is found again in what earlier builds packed', () => {
    expect(sha256(recordDictionary)).toBe(frozen.dictionary);
    expect(unpackRecord(Buffer.from(frozen.packed, 'base64'))).toBe(frozen.text);
  });

  // invariant: unpacking-checked
  test('is not made up: of bytes that nobody packed, those that mean nothing stay what they are', () => {
    const meaningless = [[], [7, 1, 2], [1, 5, 65], [1, 0xc0], [1, 0xc0, 0xff, 0xff], [1, 0x85, 1, 2]];
    for (const bytes of meaningless.map((one) => Uint8Array.from(one))) expect(unpackRecord(bytes)).toBe(bytes);
    const tooLong = Uint8Array.from([1, ...Array.from({ length: 3_000 }, () => [0xff, 0, 9]).flat()]);
    expect(unpackRecord(tooLong)).toBe(tooLong);
    const usual = `{"text":"${'no more is known. '.repeat(20)}"}`;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        unpackRecord(Uint8Array.from([1, ...bytes]));
        expect(unpackRecord(packRecord(usual))).toBe(usual);
      }),
    );
  });

  // invariants: packing-pure, packed-alone
  test('is packed in the same way whatever was packed before', () => {
    const secret = `{"text":"${words(40, 7)}"}`;
    const first = packRecord(secret);
    for (const other of [secret, `{"other":"${words(50, 7)}"}`, `{"x":"${'ab12'.repeat(200)}"}`]) {
      packRecord(other);
      unpackRecord(packRecord(other));
      expect(packRecord(secret)).toEqual(first);
    }
  });
});

const frozen = {
  dictionary: 'e2031972d33ccbc95f3dc2e4ae8150051dc5930abdba0d888592b2c7dad5fb62',
  packed:
    'AcUZG4QVAApPNQBmwxkkADLEGSyElQZheXMAMsUZNARzb2xvLYXu5/LhNpnFDG3hF3fWF6PKF+AJRm9ydHktdHdvLMEG7xpubyBtb3JlIGlzIGtub3duLiDDhOKCrPCfmIDKGC/ZGFMAMsAXD8oY0AAyxBjy3xjmAn19fQ==',
  text: JSON.stringify({
    run: '015000a4f35f',
    no: 2,
    at: 1_795_066_179_732,
    cell: 'solo-eee7f2e13699',
    record: {
      type: 'settle',
      op: 0,
      ok: true,
      value: {
        parts: [{ type: 'text', text: 'Forty-two, and no more is known. Ä€😀' }],
        finish: 'stop',
        usage: { inputTokens: 200, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 },
      },
    },
  }),
};

// invariant: packed-alone
test('any flipped bit of a packed record is reported for that record and no other, unless its text is the same', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = await recordRun(store);
  const rows = rowsIn(databaseIn(folder));
  const seen = { damaged: 0, same: 0 };
  for (const [at, row] of rows.entries()) {
    if (typeof row.body === 'string') continue;
    for (let bit = 0; bit < row.body.length * 8; bit += 7) {
      const body = Uint8Array.from(row.body);
      body[bit >> 3]! ^= 1 << (bit & 7);
      const changed = rows
        .with(at, { ...row, body })
        .map((one): FrameRow => ({ ...one, body: unpackRecord(one.body) }));
      const { problems } = checkChain(run, changed);
      const isSame = changed[at]!.body === unpackRecord(row.body);
      seen[isSame ? 'same' : 'damaged']++;
      expect(problems).toEqual(isSame ? [] : [`frame ${row.no} of run ${run} is damaged`]);
    }
  }
  expect(seen.damaged).toBeGreaterThan(500);
  // A copy from another place that has the same text.
  expect(seen.same).toBeLessThan(30);
});

// invariant: deletion-leaves-no-bytes
test('a deleted run leaves no byte of its packed records', async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const others = [await recordRun(store, newRun(), 1000), await recordRun(store, newRun(), 2000)];
  const gone = await recordRun(store, newRun(), 5000);
  const database = databaseIn(folder);
  const packed = database
    .prepare('SELECT body FROM frames WHERE run = ? AND no BETWEEN 1 AND 3')
    .all(gone)
    .flatMap(({ body }) => (body instanceof Uint8Array ? [Buffer.from(body)] : []));
  expect(packed.length).toBeGreaterThan(2);
  /** Pieces of their own words: the beginnings are what records have in common. */
  const pieces = packed.flatMap((bytes) => [150, 220, 290].map((from) => bytes.subarray(from, from + 16)));
  const found = (): number => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.map((entry) => readFileSync(join(entry.parentPath, entry.name)));
    return pieces.filter((piece) => piece.length === 16 && bytes.some((one) => one.includes(piece))).length;
  };
  expect(found()).toBeGreaterThan(5);
  await store.deleteRuns([await deletionOf(store, gone)]);
  await store.finishDeletions([gone]);
  expect(found()).toBe(0);
  for (const run of others) expect(await store.read(run)).toHaveLength(5);
});

describe('a workspace of an earlier format', () => {
  /** As an earlier build left it: every record as text. */
  const openEarlier = async (format: number) => {
    const folder = newFolder();
    const store = await openStore(folder);
    const runs = [await recordRun(store), await recordRun(store, newRun(), 500)];
    await store.close();
    const database = new DatabaseSync(join(folder, 'cloister.db'));
    database.function('unpacked', (stored) => unpackRecord(stored) as string);
    database.exec('UPDATE frames SET body = unpacked(body)');
    database.prepare("UPDATE meta SET value = ? WHERE key = 'cloister'").run(String(format));
    database.close();
    return { folder, runs };
  };

  test.for([3, 4])('is read and written as it is: format %i', async (format) => {
    const { folder, runs } = await openEarlier(format);
    const store = await openStore(folder);
    const run = await recordRun(store, newRun(), 900);
    expect(await store.read(run)).toHaveLength(5);
    expect(await store.read(runs[0]!)).toHaveLength(5);
    expect(rowsIn(databaseIn(folder)).every(({ body }) => typeof body === 'string')).toBe(true);
  });

  test.for([3, 4])(
    'is packed by `migrate`, and each record keeps its text, its hash and its place: format %i',
    async (format) => {
      const { folder, runs } = await openEarlier(format);
      const read = (): readonly StoredRow[] => {
        using database = new DatabaseSync(join(folder, 'cloister.db'));
        return database.prepare('SELECT rowid, run, no, body, hash FROM frames ORDER BY rowid').all() as never;
      };
      const before = read();
      expect(await migrateWorkspace(folder, { build: 'test' })).toMatchObject({ from: format, to: 5 });
      const after = read();
      expect(after.map((row) => ({ ...row, body: unpackRecord(row.body) }))).toEqual(before.map((row) => ({ ...row })));
      const bytes = (rows: readonly StoredRow[]): number => rows.reduce((sum, { body }) => sum + body.length, 0);
      expect(bytes(after)).toBeLessThan(0.9 * bytes(before));
      const store = await openStore(folder);
      for (const run of runs) expect(await store.inspect(run)).toMatchObject({ problems: [] });
      const { hash } = await store.hashPrefix(runs[0]!);
      const bodies = textsOf(after).filter((body) => String(body).includes(runs[0]!)) as readonly string[];
      expect(bodies.reduce<string>((head, body) => recordHash(head, body), '0'.repeat(64))).toBe(hash satisfies Hash);
    },
  );
});
