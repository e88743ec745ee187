import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { randomFrom } from '../../deep/random.ts';
import { replayCalls, traceArgs } from '../../deep/replay-calls.ts';
import { SimulatedDisk } from '../../deep/simulated-disk.ts';

const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-disk-'));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Files below a folder with their contents. */
const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path, 'latin1')]),
  );
const left = (disk: SimulatedDisk, seed?: number): Record<string, string> => {
  const folder = newFolder();
  disk.writeSurvivors(folder, seed === undefined ? undefined : randomFrom(seed, 'left'));
  return filesIn(folder);
};
const sync = (disk: SimulatedDisk, path: string): void => disk.endSync(disk.beginSync(path)!);
const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');

describe('after a power cut', () => {
  // invariant: disk-bytes-safe-after-sync
  test('a file is there when its bytes and its name were synced, and not before', () => {
    const disk = new SimulatedDisk('/r');
    disk.openFile('/r/a', { truncate: false });
    disk.write('/r/a', 0, bytes('one'));
    expect(left(disk)).toEqual({});
    sync(disk, '/r/a');
    expect(left(disk)).toEqual({});
    sync(disk, '/r');
    expect(left(disk)).toEqual({ a: 'one' });
  });

  // invariant: disk-bytes-safe-after-sync
  test('a sync does not cover what was written after it started', () => {
    const disk = new SimulatedDisk('/r');
    disk.openFile('/r/a', { truncate: false });
    sync(disk, '/r');
    disk.write('/r/a', 0, bytes('one'));
    const mark = disk.beginSync('/r/a')!;
    disk.write('/r/a', 3, bytes('two'));
    disk.endSync(mark);
    expect(left(disk)).toEqual({ a: 'one' });
  });

  // invariant: disk-names-safe-after-sync
  test('a new name, a removed name and a truncation survive only once they were synced', () => {
    const disk = new SimulatedDisk('/r');
    for (const name of ['a', 'b']) {
      disk.openFile(`/r/${name}`, { truncate: false });
      disk.write(`/r/${name}`, 0, bytes(`in ${name}`));
      sync(disk, `/r/${name}`);
    }
    sync(disk, '/r');
    disk.rename('/r/a', '/r/c');
    disk.remove('/r/b');
    expect(left(disk)).toEqual({ a: 'in a', b: 'in b' });
    sync(disk, '/r');
    disk.truncate('/r/c', 2);
    expect(left(disk)).toEqual({ c: 'in a' });
    sync(disk, '/r/c');
    expect(left(disk)).toEqual({ c: 'in' });
  });

  test('a nested folder needs both names synced', () => {
    const disk = new SimulatedDisk('/r');
    disk.makeFolder('/r/f');
    disk.openFile('/r/f/a', { truncate: false });
    disk.write('/r/f/a', 0, bytes('deep'));
    sync(disk, '/r/f/a');
    sync(disk, '/r/f');
    expect(left(disk)).toEqual({});
    sync(disk, '/r');
    expect(left(disk)).toEqual({ 'f/a': 'deep' });
  });

  // invariant: disk-unsafe-may-survive
  test('of what was not synced, each write may survive alone, and new names survive in their order', () => {
    const disk = new SimulatedDisk('/r');
    disk.openFile('/r/a', { truncate: false });
    sync(disk, '/r');
    disk.write('/r/a', 0, bytes('--'));
    sync(disk, '/r/a');
    disk.write('/r/a', 0, bytes('1'));
    disk.write('/r/a', 1, bytes('2'));
    for (const name of ['b', 'c']) disk.openFile(`/r/${name}`, { truncate: false });
    const found = Array.from({ length: 60 }, (_, seed) => left(disk, seed));
    expect(new Set(found.map(({ a }) => a))).toEqual(new Set(['--', '1-', '-2', '12']));
    expect(new Set(found.map((files) => Object.keys(files).toSorted().join('')))).toEqual(new Set(['a', 'ab', 'abc']));
  });

  test('whatever else survives, synced data does', () => {
    const write = fc.record({ at: fc.nat(40), text: fc.string({ unit: 'binary-ascii', maxLength: 20 }) });
    fc.assert(
      fc.property(fc.array(write), fc.nat(), (writes, seed) => {
        const disk = new SimulatedDisk('/r');
        disk.openFile('/r/a', { truncate: false });
        sync(disk, '/r');
        let whole = '';
        for (const { at, text } of writes) {
          disk.write('/r/a', at, bytes(text));
          whole = whole.padEnd(at, '\0').slice(0, at) + text + whole.slice(at + text.length);
        }
        sync(disk, '/r/a');
        disk.write('/r/a', 100, bytes('not synced'));
        expect(left(disk)).toEqual({ a: whole });
        expect(left(disk, seed)['a']!.slice(0, whole.length)).toBe(whole);
      }),
      { numRuns: 50 },
    );
  });
});

const strace = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;
const why = strace ? '' : ' (skipped: strace is missing or may not trace)';

test.skipIf(!strace)(`a trace of a real process gives the files that it left${why}`, () => {
  const [root, aside] = [newFolder(), newFolder()];
  const [out, script] = [join(aside, 'trace'), join(aside, 'script.mjs')];
  writeFileSync(
    script,
    `import { DatabaseSync } from 'node:sqlite';
     import { appendFileSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
     const database = new DatabaseSync('${root}/x.db');
     database.exec('CREATE TABLE t(v); INSERT INTO t VALUES (1)');
     appendFileSync('${root}/witness', 'made ');
     database.exec("PRAGMA journal_mode = DELETE; UPDATE t SET v = hex(randomblob(9000))");
     database.close();
     mkdirSync('${root}/f');
     writeFileSync('${root}/f/draft', 'a name that moves');
     renameSync('${root}/f/draft', '${root}/f/kept');
     appendFileSync('${root}/f/kept', ', and grows');
     mkdirSync('${root}/g');
     writeFileSync('${root}/g/x', 'x');
     rmSync('${root}/g/x');
     rmdirSync('${root}/g');
     for (const path of ['${root}', '${root}/f', '${root}/f/kept', '${root}/x.db']) {
       const fd = openSync(path); fsyncSync(fd); closeSync(fd);
     }
     appendFileSync('${root}/witness', 'all');`,
  );
  const { status, stderr } = spawnSync('strace', [...traceArgs(out), process.execPath, script], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const disk = new SimulatedDisk(root);
  const witnessed: string[] = [];
  for (const piece of replayCalls(readFileSync(out, 'utf8'), disk, { root, witness: join(root, 'witness') })) {
    witnessed.push(piece);
    // The first statement has been synced by SQLite itself; the name of the database by its journal's.
    if (witnessed.length === 1) expect(Object.keys(left(disk))).toContain('x.db');
  }
  expect(witnessed).toEqual(['made ', 'all']);
  const { witness: _, ...files } = filesIn(root);
  const { witness: __, ...simulated } = left(disk);
  expect(simulated).toEqual(files);
});
