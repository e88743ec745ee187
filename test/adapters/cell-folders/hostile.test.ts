// Links and special files planted in the cell's own folder, which a path does not reveal, and arbitrary paths.
import { linkSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, failureOf, hostilePaths, readText } from '../../conformance/cell-folder.ts';
import { devices, inside, links, special } from './plants.ts';
import type { Plant } from './plants.ts';
import { canaryText, descriptorsBelow, makeWorld, surroundings, treeOf } from './world.ts';

/** Plants, then reads, writes and lists. `message` holds the texts of both refusals. */
const tryPlanted = async ([, plant, path]: Plant) => {
  const world = makeWorld();
  await plant(world);
  const before = [surroundings(world), treeOf(world.outputs)];
  const read = await failureOf(world.workspace.read(path));
  const write = await failureOf(world.workspace.write(path, bytesOf('x')));
  const listed = (await world.workspace.list()).some((file) => file.path === path);
  expect([surroundings(world), treeOf(world.outputs)]).toEqual(before);
  return {
    refusals: [read.failure, write.failure],
    namesHost: (read.message + write.message).includes(world.top),
    listed,
    descriptors: descriptorsBelow(world.top),
  };
};

const refused = (why: RegExp) => {
  const refusal = { code: 'file_refused', detail: expect.stringMatching(why) };
  return { refusals: [refusal, refusal], namesHost: false, listed: false, descriptors: 0 };
};

describe('the jail refuses, without side effects', () => {
  test('there are at least 60 hostile cases', () => {
    expect(hostilePaths.length + links.length + special.length + devices.length).toBeGreaterThanOrEqual(60);
  });

  test.each([...links, ...special])('%s', async (...plant) => {
    expect(await tryPlanted(plant)).toEqual(refused(plant[3]));
  });

  // Only root may create a device.
  test.skipIf(process.getuid?.() !== 0).each(devices)('%s', async (...plant) => {
    expect(await tryPlanted(plant)).toEqual(refused(plant[3]));
  });

  // invariant: jail-descriptors-only
  test.each(['runs', 'runs/r', 'runs/r/c', 'runs/r/c/outputs'])('a cell whose %s is a link', async (folder) => {
    const world = makeWorld();
    renameSync(join(world.root, folder), join(world.outside, 'moved'));
    symlinkSync(join(world.outside, 'moved'), join(world.root, folder));
    const before = surroundings(world);
    const { workspace } = world;
    for (const call of [() => workspace.read('a'), () => workspace.write('a', bytesOf('x')), () => workspace.list()]) {
      const { failure } = await failureOf(call());
      expect(failure.code).toBe('file_refused');
      expect(failure.detail).toMatch(/symbolic link/u);
    }
    expect(surroundings(world)).toEqual(before);
  });

  test('a file too large for memory', async () => {
    const world = makeWorld();
    writeFileSync(inside(world, 'x'), 'start');
    truncateSync(inside(world, 'x'), 10 * 2 ** 40);
    expect((await failureOf(world.workspace.read('x'))).code).toBe('file_refused');
    expect(await readText(world.workspace, 'x', 0, 5)).toBe('start');
  });
});

const fragment = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '/',
    '\\',
    '\0',
    'link',
    'folder',
    'canary.txt',
    'outside',
    'neighbour',
    'outputs',
    '',
    '~',
    '\uff0e',
  ),
  fc.constantFrom(...hostilePaths.map(([, path]) => path).filter((path) => path.length < 100)),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ maxLength: 4 }),
);
const anyPath = fc
  .array(fragment, { maxLength: 12 })
  .chain((parts) => fc.constantFrom('', '/').map((by) => parts.join(by)));

// invariant: path-stays-in-outputs
test('no path reads or changes anything outside the jail', async () => {
  const world = makeWorld();
  symlinkSync(world.outside, inside(world, 'link'));
  symlinkSync(world.outside, inside(world, 'folder'));
  linkSync(world.canary, inside(world, 'canary.txt'));
  const before = surroundings(world);
  let written = 0;
  await fc.assert(
    fc.asyncProperty(anyPath, async (path) => {
      const read = await world.workspace.read(path).catch(() => undefined);
      expect(read === undefined ? '' : Buffer.from(read.bytes).toString()).not.toContain(canaryText);
      const kept = await world.workspace.write(path, bytesOf(path)).then(
        () => true,
        () => false,
      );
      if (!kept) return;
      written += 1;
      expect(await readText(world.workspace, path)).toBe(path);
    }),
    { numRuns: 1000 },
  );
  expect(surroundings(world)).toEqual(before);
  expect(written).toBeGreaterThan(50);
  expect(descriptorsBelow(world.top)).toBe(0);
});
