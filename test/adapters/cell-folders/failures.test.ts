// The disk fails in the middle of a write.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { bytesOf, failureOf, readText } from '../../conformance/cell-folder.ts';
import { descriptorsBelow, makeWorld } from './world.ts';

const fail = vi.hoisted(() => ({ at: '', errno: '' }));

const failing = (call: string): Error | undefined =>
  fail.at === call ? Object.assign(new Error(`${fail.errno}: /the/host/path`), { code: fail.errno }) : undefined;

vi.mock(import('node:fs'), async (original) => {
  const real = await original();
  const writeFile = (fd: number, bytes: Uint8Array, done: (error: Error | null) => void): void => {
    const error = failing('write');
    // Half of the bytes are on disk when the other half fails.
    if (error === undefined) real.writeFile(fd, bytes, done);
    else real.writeFile(fd, bytes.subarray(0, bytes.length / 2), () => done(error));
  };
  const fdatasync = (fd: number, done: (error: Error | null) => void): void => {
    const error = failing('sync');
    if (error === undefined) real.fdatasync(fd, done);
    else done(error);
  };
  return { ...real, writeFile, fdatasync } as unknown as typeof real;
});

vi.mock(import('node:fs/promises'), async (original) => {
  const real = await original();
  const rename: typeof real.rename = async (from, to) => {
    const error = failing('rename');
    if (error !== undefined) throw error;
    await real.rename(from, to);
  };
  return { ...real, rename };
});

test.each([
  ['write', 'ENOSPC', 'store_failed'],
  ['sync', 'EIO', 'store_failed'],
  ['rename', 'EDQUOT', 'store_failed'],
  ['rename', 'EISDIR', 'file_refused'],
  ['rename', 'ENOENT', 'file_refused'],
])('when %s fails with %s, the old file remains and nothing else does', async (at, errno, code) => {
  const world = makeWorld();
  await world.workspace.write('a', bytesOf('old'));
  Object.assign(fail, { at, errno });
  const failure = await failureOf(world.workspace.write('a', bytesOf('new')));
  fail.at = '';

  expect(failure.code).toBe(code);
  expect(failure.message).not.toContain('/the/host/path');
  expect(readdirSync(world.outputs)).toEqual(['a']);
  expect(readFileSync(join(world.outputs, 'a'), 'utf8')).toBe('old');
  expect(descriptorsBelow(world.top)).toBe(0);
  await world.workspace.write('a', bytesOf('new'));
  expect(await readText(world.workspace, 'a')).toBe('new');
});
