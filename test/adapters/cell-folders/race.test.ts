// A thread swaps folders and files for links to the outside as fast as it can, while the cell reads, writes and lists.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { CloisterError } from '#base';
import { bytesOf, textOf } from '../../conformance/cell-folder.ts';
import { descriptorsBelow, makeWorld, surroundings } from './world.ts';
import type { World } from './world.ts';

/**
 * In its own thread: each name in turn is the real file or folder, then a link to the outside, then the real one again.
 * A writer may recreate the name in a gap; that copy is discarded. Only links that were really in place are counted.
 */
const swapper = `
  const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
  const { swaps, trash, counters } = require('node:worker_threads').workerData;
  let thrown = 0;
  const free = (name) => { try { renameSync(name, trash + '/' + thrown++); } catch {} };
  const insist = (step, name) => { for (;;) try { return step(); } catch { free(name); } };
  while (Atomics.load(counters, 1) === 0) {
    for (const [name, target] of swaps) {
      renameSync(name, name + '.real');
      insist(() => symlinkSync(target, name), name);
      Atomics.add(counters, 0, 1);
      try { unlinkSync(name); } catch {}
      insist(() => renameSync(name + '.real', name), name);
    }
  }
`;

const startSwapper = (world: World) => {
  const swaps = [
    [join(world.outputs, 'folder'), world.outside],
    [join(world.outputs, 'deep/er'), world.outside],
    [join(world.outputs, 'file'), world.canary],
    [world.outputs, world.outside],
  ];
  const trash = join(world.top, 'trash');
  mkdirSync(trash);
  const counters = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(swapper, { eval: true, workerData: { swaps, trash, counters } });
  const ended = new Promise<void>((resolve, reject) => worker.once('error', reject).once('exit', () => resolve()));
  onTestFinished(async () => {
    await worker.terminate();
  });
  const stop = async (): Promise<number> => {
    Atomics.store(counters, 1, 1);
    await ended;
    return Atomics.load(counters, 0);
  };
  return { stop };
};

const attemptsMax = 3200;

type Tally = Record<'read' | 'written' | 'listed' | 'refused' | 'missing', number>;

const readPaths = ['folder/canary.txt', 'deep/er/canary.txt', 'file', 'canary.txt'];
const writePaths = ['folder/new', 'deep/er/new', 'file', 'new', 'folder/made/new'];

const attempt = async ({ workspace }: World, no: number, tally: Tally): Promise<void> => {
  try {
    if (no % 16 === 0) {
      await workspace.write(writePaths[(no / 16) % writePaths.length]!, bytesOf('inside'));
      tally.written += 1;
    } else if (no % 16 === 8) {
      for (const { path } of await workspace.list()) expect(path).not.toContain('only-outside');
      tally.listed += 1;
    } else {
      const { bytes } = await workspace.read(readPaths[no % readPaths.length]!);
      expect(textOf(bytes)).toBe('inside');
      tally.read += 1;
    }
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    expect(['file_refused', 'file_missing']).toContain(error.code);
    tally[error.code === 'file_refused' ? 'refused' : 'missing'] += 1;
  }
};

test('a folder or file swapped for a link in the middle of an operation leads nowhere', async () => {
  const world = makeWorld();
  for (const folder of ['folder', 'deep/er']) mkdirSync(join(world.outputs, folder), { recursive: true });
  for (const path of readPaths) writeFileSync(join(world.outputs, path), 'inside');
  writeFileSync(join(world.outside, 'only-outside'), 'x');
  const outside = () => surroundings({ top: world.outside, outputs: '' });
  const before = outside();

  const race = startSwapper(world);
  const tally: Tally = { read: 0, written: 0, listed: 0, refused: 0, missing: 0 };
  let attempts = 0;
  const lane = async (): Promise<void> => {
    while (attempts < attemptsMax) await attempt(world, attempts++, tally);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  const swaps = await race.stop();

  expect(outside()).toEqual(before);
  expect(readFileSync(world.canary, 'utf8')).toBe('the canary outside');
  expect(descriptorsBelow(world.top)).toBe(0);
  // Otherwise nothing was tried.
  expect(swaps).toBeGreaterThan(100);
  expect(Object.entries(tally).filter(([, count]) => count === 0)).toEqual([]);
});
