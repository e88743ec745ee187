// Steps through folders by descriptor, so that nothing can be swapped between a check and its use.
//
//   J1. A name is looked up only in a folder that is held open here, one name at a time, never through a link.
//   J2. What a name leads to is judged by the descriptor that will be used, not by the name.
//   J3. Whoever opens a descriptor closes it, on every way out.
//
// Node has no `openat`; `/proc/self/fd/N/name` is the same: the kernel goes straight to what N holds.
// Steps are synchronous: one takes some 8 µs, and ten times that as a round through the thread pool.
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { CloisterError } from '#base';
import { pathProblem, quoted } from './paths.ts';

/** Linux's O_PATH, which Node does not name: holds a place without opening it, so no FIFO waits and no device notices. */
const holdOnly = 0o10000000;

/** An open descriptor. Disposing closes it. */
export type OpenDescriptor = Disposable & { readonly fd: number };

export const openHeld = (path: string, flags: number, mode?: number): OpenDescriptor => {
  const fd = openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
};

/** What a descriptor holds, under a path of its own. */
export const descriptorPath = (held: OpenDescriptor): string => `/proc/self/fd/${held.fd}`;

/** A name in a held folder. It must be one segment: `parsePath`, `isName` or `readdir` gave it. */
export const childPath = (folder: OpenDescriptor, name: string): string => `${descriptorPath(folder)}/${name}`;

/** Holds what a name stands for, be it a link. */
export const openPath = (folder: OpenDescriptor, name: string): OpenDescriptor =>
  openHeld(childPath(folder, name), holdOnly | constants.O_NOFOLLOW);

/** Holds the folder that the names lead to, making what is missing if asked. The root is the operator's: links in it count. */
export const openFolder = (root: string, names: readonly string[], make: boolean): OpenDescriptor => {
  if (make) mkdirSync(root, { recursive: true });
  let here = openHeld(root, holdOnly | constants.O_DIRECTORY);
  for (const name of names) {
    using parent = here;
    if (make) makeFolder(parent, name);
    here = stepInto(parent, name);
  }
  return here;
};

const makeFolder = (folder: OpenDescriptor, name: string): void => {
  try {
    mkdirSync(childPath(folder, name), { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
};

const stepInto = (folder: OpenDescriptor, name: string): OpenDescriptor => {
  const child = openPath(folder, name);
  try {
    const stat = fstatSync(child.fd);
    if (stat.isDirectory()) return child;
    throw new CloisterError('file_refused', `${quoted(name)} is ${kindOf(stat)}, not a folder.`);
  } catch (error) {
    closeSync(child.fd);
    throw error;
  }
};

type Found = { readonly folder: OpenDescriptor; readonly name: string; readonly path: string; readonly stat: Stats };

/** Everything below that is not a folder, unsorted. `folder` is held only until the next one is asked for. */
export async function* walk(folder: OpenDescriptor, prefix = ''): AsyncGenerator<Found, void, undefined> {
  for (const name of await namesIn(folder)) {
    const path = prefix + name;
    const stat = unlessGone(() => lstatSync(childPath(folder, name)));
    if (stat === undefined) continue;
    if (!stat.isDirectory()) yield { folder, name, path, stat };
    else if (pathProblem(path) === undefined) {
      using child = unlessGone(() => stepInto(folder, name));
      if (child !== undefined) yield* walk(child, `${path}/`);
    }
  }
}

/** Names that are not UTF-8 are left out: as text they would stand for another file. */
const namesIn = async (folder: OpenDescriptor): Promise<readonly string[]> => {
  const names = await readdir(descriptorPath(folder), { encoding: 'buffer' });
  return names.filter((name) => isUtf8(name)).map((name) => name.toString('utf8'));
};

/** Undefined for what was removed, or swapped for something else, since it was seen. */
const unlessGone = <T>(look: () => T): T | undefined => {
  try {
    return unlessMissing(look);
  } catch (error) {
    if (error instanceof CloisterError) return undefined;
    throw error;
  }
};

export const unlessMissing = <T>(look: () => T): T | undefined => {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};

/** Throws `file_refused` for anything but a plain file without another name. (No name at all: it was just replaced.) */
export const refuseUnlessPlain = (name: string, stat: Stats): void => {
  if (!isPlain(stat)) throw new CloisterError('file_refused', `${quoted(name)} is ${kindOf(stat)}, not a plain file.`);
};

export const isPlain = (stat: Stats): boolean => stat.isFile() && stat.nlink <= 1;

const kindOf = (stat: Stats): string => {
  if (stat.isSymbolicLink()) return 'a symbolic link';
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a FIFO';
  if (stat.isSocket()) return 'a socket';
  if (stat.isFile()) return stat.nlink > 1 ? 'a file with other hard links' : 'a file';
  return 'a device';
};

export const errnoOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
