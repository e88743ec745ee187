// The jail beyond the shared conformance tests: what it lists, what it leaves on disk, its error texts, what it closes.
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jailedCellFolders } from '#adapters/cell-folders';
import type { CellId, RunId } from '#base';
import { bytesOf, conformCellFolders, failureOf } from '../../conformance/cell-folder.ts';
import { links, mknod, special } from './plants.ts';
import { canaryText, descriptorsBelow, makeWorld, treeOf } from './world.ts';

let scratch = '';
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'cloister-conform-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

conformCellFolders('a workspace in a jail', async () =>
  jailedCellFolders(join(mkdtempSync(join(scratch, 'w-')), 'new/root')),
);

describe('listing in the jail', () => {
  // invariant: jail-lists-what-it-reads
  test('includes only readable plain files', async () => {
    const world = makeWorld();
    for (const [index, [, plant]] of [...links, ...special].entries()) {
      const folder = `plant-${index}`;
      mkdirSync(join(world.outputs, folder));
      await plant({ ...world, outputs: join(world.outputs, folder) });
    }
    for (const name of ['a\nb', 'cafe\u0301', 'a\u202eb', 'a\\b', '...']) writeFileSync(join(world.outputs, name), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${world.outputs}/`), Buffer.from([0x61, 0xff])]), 'x');
    mkdirSync(join(world.outputs, '1/2/3/4/5/6/7/8'), { recursive: true });
    writeFileSync(join(world.outputs, '1/2/3/4/5/6/7/8/too-deep'), 'x');
    writeFileSync(join(world.outputs, '1/2/3/4/5/6/7/deep'), 'xyz');
    // The name above that is not UTF-8 would decode to this one.
    writeFileSync(join(world.outputs, 'a\ufffd'), 'x');

    const listed = await world.workspace.list();
    const plain = listed.filter(({ path }) => !path.startsWith('plant-'));
    expect(plain).toEqual([
      { path: '1/2/3/4/5/6/7/deep', bytes: 3 },
      { path: 'a\ufffd', bytes: 1 },
    ]);
    for (const { path } of listed) await world.workspace.read(path);
    expect(descriptorsBelow(world.top)).toBe(0);
  });
});

describe('writing in the jail', () => {
  test('does not happen when a cell folder is only opened, read or listed', async () => {
    const root = join(makeWorld().top, 'fresh');
    const workspace = jailedCellFolders(root).open('r' as RunId, 'c' as CellId);
    await workspace.list();
    await failureOf(workspace.read('a'));
    await failureOf(workspace.write('../a', bytesOf('x')));
    expect(existsSync(root)).toBe(false);
  });

  test('creates files below <root>/runs/<run>/<cell>/outputs that only the owner can read', async () => {
    const world = makeWorld();
    await world.workspace.write('a/b', bytesOf('x'));
    expect(readFileSync(join(world.outputs, 'a/b'), 'utf8')).toBe('x');
    expect([
      lstatSync(join(world.outputs, 'a')).mode & 0o777,
      lstatSync(join(world.outputs, 'a/b')).mode & 0o777,
    ]).toEqual([0o700, 0o600]);
  });

  // invariant: jail-writes-whole-files
  test('replaces the file: a reader that holds the old one open keeps reading it', async () => {
    const world = makeWorld();
    await world.workspace.write('a', bytesOf('old'));
    linkSync(join(world.outputs, 'a'), join(world.outside, 'kept'));
    rmSync(join(world.outputs, 'a'));
    await world.workspace.write('a', bytesOf('new'));
    expect(readFileSync(join(world.outside, 'kept'), 'utf8')).toBe('old');
  });

  // invariant: jail-writes-whole-files
  test('removes what a crash left half-written, and leaves writes in flight alone', async () => {
    const world = makeWorld();
    await world.workspace.write('a/b', bytesOf('kept'));
    for (const left of ['.cloister-dead', 'a/.cloister-dead']) writeFileSync(join(world.outputs, left), 'half');
    symlinkSync(world.canary, join(world.outputs, '.cloister-link'));
    expect(await world.workspace.list()).toEqual([{ path: 'a/b', bytes: 4 }]);

    const long = world.workspace.write('long', new Uint8Array(20_000_000));
    const drafts = (): readonly string[] => readdirSync(world.outputs).filter((name) => name.startsWith('.cloister-'));
    while (!drafts().some((name) => name.length > 20)) await setImmediate();
    await jailedCellFolders(world.root)
      .open('r' as RunId, 'c' as CellId)
      .write('short', bytesOf('x'));
    await long;
    expect((await world.workspace.list()).map(({ path }) => path)).toEqual(['a/b', 'long', 'short']);
    expect(treeOf(world.outputs).filter((line) => line.includes('.cloister-'))).toEqual([]);
    expect(readFileSync(world.canary, 'utf8')).toBe(canaryText);
  });

  // invariant: jail-hides-host-paths
  test('refusals never name a path of the host', async () => {
    const world = makeWorld();
    const file = join(world.top, 'file');
    writeFileSync(file, '');
    const workspace = jailedCellFolders(join(file, 'root')).open('r' as RunId, 'c' as CellId);
    for (const call of [() => workspace.read('a'), () => workspace.write('a', bytesOf('x')), () => workspace.list()]) {
      const failure = await failureOf(call());
      expect(failure.code).toBe('file_refused');
      expect([failure.message, failure.stack, String(failure.cause)].join()).not.toContain(world.top);
    }
  });
});

test('opening is refused on platforms other than Linux', () => {
  const { platform } = process;
  const workspaces = jailedCellFolders(scratch);
  try {
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    expect(() => workspaces.open('r' as RunId, 'c' as CellId)).toThrow(
      expect.objectContaining({ code: 'files_unsupported' }),
    );
  } finally {
    Object.defineProperty(process, 'platform', { value: platform });
  }
});

// invariant: descriptor-opener-closes
test('every descriptor is closed, however the operation ends', async () => {
  const world = makeWorld();
  symlinkSync(world.outside, join(world.outputs, 'link'));
  mknod(join(world.outputs, 'fifo'), 'p');
  mkdirSync(join(world.outputs, 'folder'));
  const paths = ['a', 'b/c/d', 'link', 'link/canary.txt', 'fifo', 'fifo/x', 'folder', 'missing/x', '../x', 'a/b', ''];
  const all = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 20; round++) {
    const calls = paths.flatMap((path) => [world.workspace.write(path, bytesOf('x')), world.workspace.read(path)]);
    await Promise.allSettled([...calls, world.workspace.list()]);
  }
  expect(descriptorsBelow(world.top)).toBe(0);
  expect(readdirSync('/proc/self/fd').length).toBeLessThan(all + 10);
});
