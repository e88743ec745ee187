// The race made deterministic: before each system call of an operation, in turn, something is swapped for a link to the outside.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { jailedCellFolders } from '#adapters/cell-folders';
import type { CellId, RunId } from '#base';
import { bytesOf, textOf } from '../../conformance/cell-folder.ts';
import { descriptorsBelow, makeWorld, treeOf } from './world.ts';
import type { World } from './world.ts';

/** While `before` is set, it is called before each system call with that call's number. */
const { calls, counted } = vi.hoisted(() => {
  const state = { made: 0, before: undefined as ((no: number) => void) | undefined };
  const count = (): void => {
    const { before } = state;
    if (before === undefined) return;
    // System calls of the hook itself are not counted.
    state.before = undefined;
    before(state.made++);
    state.before = before;
  };
  const wrap =
    <A extends unknown[], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      count();
      return call(...args);
    };
  return { calls: state, counted: wrap };
});

vi.mock(import('node:fs'), async (original) => {
  const real = await original();
  const { openSync, fstatSync, lstatSync, mkdirSync: mkdir, unlinkSync, writeFile } = real;
  const mocked = { openSync, fstatSync, lstatSync, mkdirSync: mkdir, unlinkSync, writeFile };
  const entries = Object.entries(mocked).map(([name, call]) => [
    name,
    counted(call as (...args: unknown[]) => unknown),
  ]);
  return { ...real, ...Object.fromEntries(entries) };
});

vi.mock(import('node:fs/promises'), async (original) => {
  const real = await original();
  return { ...real, rename: counted(real.rename), readdir: counted(real.readdir) as typeof real.readdir };
});

const operations: Record<string, (world: World) => Promise<string>> = {
  read: async ({ workspace }) => textOf((await workspace.read('a/canary.txt')).bytes),
  'replacing write': async ({ workspace }) => String(await workspace.write('a/canary.txt', bytesOf('new'))),
  'new write': async ({ workspace }) => String(await workspace.write('a/b/new', bytesOf('new'))),
  list: async ({ workspace }) => JSON.stringify(await workspace.list()),
};

const swaps: Record<string, (world: World) => [name: string, target: string]> = {
  'the file': ({ outputs, canary }) => [join(outputs, 'a/canary.txt'), canary],
  'its folder': ({ outputs, outside }) => [join(outputs, 'a'), outside],
  'the inner folder': ({ outputs, outside }) => [join(outputs, 'a/b'), outside],
  outputs: ({ outputs, outside }) => [outputs, join(outside, 'like-outputs')],
  'the cell': ({ root, outside }) => [join(root, 'runs/r/c'), join(outside, 'like-cell')],
};

/** A world whose outside has the same files as the inside, of the same length, so that following a link would succeed. */
const makeMirroredWorld = (): World => {
  const world = makeWorld();
  const plant = (folder: string, text: string): void => {
    mkdirSync(join(folder, 'b'), { recursive: true });
    for (const name of ['canary.txt', 'b/old']) writeFileSync(join(folder, name), text);
  };
  plant(join(world.outputs, 'a'), 'inside');
  plant(world.outside, 'stolen');
  plant(join(world.outside, 'like-outputs/a'), 'stolen');
  plant(join(world.outside, 'like-cell/outputs/a'), 'stolen');
  return world;
};

const pairs = Object.keys(operations).flatMap((operation) =>
  Object.keys(swaps).map((swap) => [operation, swap] as const),
);

// invariants: descriptor-one-name-at-a-time, descriptor-checks-what-it-uses, jail-descriptors-only
test.each(pairs)('a %s never leaves the jail, whenever %s is swapped', async (operation, swap) => {
  const world = makeMirroredWorld();
  const [name, target] = swaps[swap]!(world);
  const away = join(world.top, 'away');
  const before = treeOf(world.outside, '');
  let [at, fired] = [0, true];
  for (; fired; at++) {
    // A new cell folder each time, since its first write removes leftovers.
    const workspace = jailedCellFolders(world.root).open('r' as RunId, 'c' as CellId);
    fired = false;
    calls.made = 0;
    calls.before = (no) => {
      if (no !== at) return;
      renameSync(name, away);
      symlinkSync(target, name);
      fired = true;
    };
    const result = await operations[operation]!({ ...world, workspace }).catch((error: Error) => error.message);
    calls.before = undefined;
    if (fired) {
      // Either the link, or the file that replaced it.
      rmSync(name);
      renameSync(away, name);
    }
    expect(result).not.toContain('stolen');
    expect(result).not.toContain('like-');
    expect(treeOf(world.outside, '')).toEqual(before);
    expect(descriptorsBelow(world.top)).toBe(0);
  }
  expect(at).toBeGreaterThan(10);
});

test('listing a tree 300 folders deep takes only a few calls', async () => {
  const world = makeWorld();
  mkdirSync(join(world.outputs, 'd/'.repeat(300)), { recursive: true });
  calls.made = 0;
  calls.before = () => undefined;
  const listed = await world.workspace.list();
  calls.before = undefined;
  expect(listed).toEqual([]);
  expect(calls.made).toBeLessThan(60);
});
