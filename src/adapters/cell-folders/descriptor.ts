// Walks folders by descriptor, so that nothing can be swapped between a check and its use.
//
//   descriptor-one-name-at-a-time. A name is looked up only in a folder that is open here, one name at a time, never through a
//       link.
//   descriptor-checks-what-it-uses. A file is checked by the descriptor that will be used, not by its name.
//   descriptor-opener-closes. Whoever opens a descriptor closes it, on every path out.
//
// Node has no `openat`; `/proc/self/fd/N/name` does the same: the kernel goes directly to the file behind N.
// Steps are synchronous: one takes about 8 µs, and ten times as long through the thread pool.
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { CloisterError } from '#base';
import { pathProblem, quoteName } from './paths.ts';

/** Linux's O_PATH, which Node does not export: refers to a file without opening it, so no FIFO blocks and no device is touched. */
const pathOnly = 0o10000000;

/** An open descriptor. Disposing closes it. */
export type OpenDescriptor = Disposable & { readonly fd: number };

export const openDescriptor = (path: string, flags: number, mode?: number): OpenDescriptor => {
  const fd = openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
};

/** A path to the file behind a descriptor. */
export const descriptorPath = (descriptor: OpenDescriptor): string => `/proc/self/fd/${descriptor.fd}`;

/** The path of a name in an open folder. The name must be one segment from `parsePath`, `isName` or `readdir`. */
export const childPath = (folder: OpenDescriptor, name: string): string => `${descriptorPath(folder)}/${name}`;

/** Opens what a name stands for, even if it is a link. */
export const openPath = (folder: OpenDescriptor, name: string): OpenDescriptor =>
  openDescriptor(childPath(folder, name), pathOnly | constants.O_NOFOLLOW);

/** Opens the folder that the names lead to, and creates missing folders if `make`. The root is the operator's, so links in it are followed. */
export const openFolder = (root: string, names: readonly string[], make: boolean): OpenDescriptor => {
  if (make) mkdirSync(root, { recursive: true });
  let here = openDescriptor(root, pathOnly | constants.O_DIRECTORY);
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
    if (errorCode(error) !== 'EEXIST') throw error;
  }
};

const stepInto = (folder: OpenDescriptor, name: string): OpenDescriptor => {
  const child = openPath(folder, name);
  try {
    const stat = fstatSync(child.fd);
    if (stat.isDirectory()) return child;
    throw new CloisterError('file_refused', `${quoteName(name)} is ${describeKind(stat)}, not a folder.`);
  } catch (error) {
    closeSync(child.fd);
    throw error;
  }
};

type WalkEntry = {
  readonly folder: OpenDescriptor;
  readonly name: string;
  readonly path: string;
  readonly stat: Stats;
};

/** Everything below that is not a folder, unsorted. `folder` stays open only until the next entry is requested. */
export async function* walkFiles(folder: OpenDescriptor, prefix = ''): AsyncGenerator<WalkEntry, void, undefined> {
  for (const name of await listNames(folder)) {
    const path = prefix + name;
    const stat = unlessGone(() => lstatSync(childPath(folder, name)));
    if (stat === undefined) continue;
    if (!stat.isDirectory()) yield { folder, name, path, stat };
    else if (pathProblem(path) === undefined) {
      using child = unlessGone(() => stepInto(folder, name));
      if (child !== undefined) yield* walkFiles(child, `${path}/`);
    }
  }
}

/** Names that are not UTF-8 are skipped: as text they would stand for another file. */
const listNames = async (folder: OpenDescriptor): Promise<readonly string[]> => {
  const names = await readdir(descriptorPath(folder), { encoding: 'buffer' });
  return names.filter((name) => isUtf8(name)).map((name) => name.toString('utf8'));
};

/** Undefined for what was removed, or replaced by something else, since it was listed. */
const unlessGone = <T>(read: () => T): T | undefined => {
  try {
    return unlessMissing(read);
  } catch (error) {
    if (error instanceof CloisterError) return undefined;
    throw error;
  }
};

export const unlessMissing = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
};

/** Throws `file_refused` for anything but a regular file with at most one hard link (none: it was just replaced). */
export const requireRegularFile = (name: string, stat: Stats): void => {
  if (!isRegularFile(stat))
    throw new CloisterError('file_refused', `${quoteName(name)} is ${describeKind(stat)}, not a regular file.`);
};

export const isRegularFile = (stat: Stats): boolean => stat.isFile() && stat.nlink <= 1;

const describeKind = (stat: Stats): string => {
  if (stat.isSymbolicLink()) return 'a symbolic link';
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a FIFO';
  if (stat.isSocket()) return 'a socket';
  if (stat.isFile()) return stat.nlink > 1 ? 'a file with other hard links' : 'a file';
  return 'a device';
};

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
