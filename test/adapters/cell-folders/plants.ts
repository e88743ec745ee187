// Things planted in `outputs/`, the path that is then requested, and the text of the refusal.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { World } from './world.ts';

export type Plant = readonly [title: string, plant: (world: World) => unknown, path: string, why: RegExp];

export const inside = (world: World, ...names: string[]): string => join(world.outputs, ...names);

export const links: readonly Plant[] = [
  ['a link to a file outside', (w) => symlinkSync(w.canary, inside(w, 'x')), 'x', /"x" is a symbolic link/u],
  [
    'a relative link outside',
    (w) => symlinkSync('../../../../../outside/canary.txt', inside(w, 'x')),
    'x',
    /symbolic link/u,
  ],
  [
    'a link to a file inside',
    (w) => (writeFileSync(inside(w, 'y'), ''), symlinkSync('y', inside(w, 'x'))),
    'x',
    /symbolic link/u,
  ],
  [
    'a link to a neighbour',
    (w) => symlinkSync('../../neighbour/outputs/canary.txt', inside(w, 'x')),
    'x',
    /symbolic link/u,
  ],
  ['a dangling link', (w) => symlinkSync(join(w.outside, 'new.txt'), inside(w, 'x')), 'x', /symbolic link/u],
  ['a link to itself', (w) => symlinkSync('x', inside(w, 'x')), 'x', /symbolic link/u],
  [
    'a loop of links',
    (w) => (symlinkSync('y', inside(w, 'x')), symlinkSync('x', inside(w, 'y'))),
    'x',
    /symbolic link/u,
  ],
  [
    'a chain of links',
    (w) => (symlinkSync(w.canary, inside(w, 'y')), symlinkSync('y', inside(w, 'x'))),
    'x',
    /symbolic link/u,
  ],
  ['a link to the root', (w) => symlinkSync('/', inside(w, 'x')), 'x', /symbolic link/u],
  ['a link to a device', (w) => symlinkSync('/dev/zero', inside(w, 'x')), 'x', /symbolic link/u],
  ['a link into proc', (w) => symlinkSync('/proc/self/environ', inside(w, 'x')), 'x', /symbolic link/u],
  [
    'a folder that is a link',
    (w) => symlinkSync(w.outside, inside(w, 'x')),
    'x/canary.txt',
    /"x" is a symbolic link, not a folder/u,
  ],
  ['a link to a new place outside', (w) => symlinkSync(w.outside, inside(w, 'x')), 'x/new.txt', /symbolic link/u],
  ['a link to the folder above', (w) => symlinkSync('..', inside(w, 'x')), 'x/canary.txt', /symbolic link/u],
  ['a link to the folder itself', (w) => symlinkSync('.', inside(w, 'x')), 'x/x/canary.txt', /symbolic link/u],
  ['a dangling folder', (w) => symlinkSync(join(w.outside, 'new'), inside(w, 'x')), 'x/new.txt', /symbolic link/u],
  ['a folder that links to itself', (w) => symlinkSync('x', inside(w, 'x')), 'x/new.txt', /symbolic link/u],
  ['a link to the root as a folder', (w) => symlinkSync('/', inside(w, 'x')), 'x/etc/passwd', /symbolic link/u],
  [
    'a link deeper down',
    (w) => (mkdirSync(inside(w, 'a/b'), { recursive: true }), symlinkSync(w.outside, inside(w, 'a/b/x'))),
    'a/b/x/canary.txt',
    /"x" is a symbolic link/u,
  ],
  ['a link to a descriptor', (w) => symlinkSync('/proc/self/cwd', inside(w, 'x')), 'x/package.json', /symbolic link/u],
  ['a hard link to a file outside', (w) => linkSync(w.canary, inside(w, 'x')), 'x', /other hard links/u],
  [
    'a hard link inside',
    (w) => (writeFileSync(inside(w, 'y'), ''), linkSync(inside(w, 'y'), inside(w, 'x'))),
    'x',
    /other hard links/u,
  ],
  [
    'a hard link in a folder',
    (w) => (mkdirSync(inside(w, 'a')), linkSync(w.canary, inside(w, 'a/x'))),
    'a/x',
    /other hard links/u,
  ],
];

export const mknod = (path: string, ...kind: string[]): unknown => execFileSync('mknod', [path, ...kind]);

export const special: readonly Plant[] = [
  ['a FIFO', (w) => mknod(inside(w, 'x'), 'p'), 'x', /a FIFO/u],
  ['a FIFO as a folder', (w) => mknod(inside(w, 'x'), 'p'), 'x/y', /a FIFO, not a folder/u],
  ['a socket', (w) => listenAt(inside(w, 'x')), 'x', /a socket/u],
  ['a folder', (w) => mkdirSync(inside(w, 'x')), 'x', /a folder, not a regular file/u],
  ['a full folder', (w) => mkdirSync(inside(w, 'x/y'), { recursive: true }), 'x', /a folder/u],
];

const listenAt = (path: string): Promise<void> =>
  new Promise((resolve) => {
    // A short path: the address of a socket has at most 107 bytes.
    const server = createServer().listen(path, () => {
      renameSync(path, `${path}.kept`);
      server.close(() => resolve(renameSync(`${path}.kept`, path)));
    });
  });

export const devices: readonly Plant[] = [
  ['a character device', (w) => mknod(inside(w, 'x'), 'c', '1', '5'), 'x', /a device/u],
  ['a block device', (w) => mknod(inside(w, 'x'), 'b', '7', '0'), 'x', /a device/u],
];
