// Workspaces in folders: a cell reaches its own `<root>/runs/<run>/<cell>/outputs/`, and nothing else.
//
//   W1. Reading and writing go through held descriptors only (`folder.ts`); links are refused, not followed.
//   W2. A file is written whole under a reserved name and then renamed: a crash leaves the old one or the new.
//   W3. What `list` shows is what `read` would take.
//   W4. A failure never holds a path of the host.
import { randomBytes } from 'node:crypto';
import { constants, existsSync, fdatasync, fstatSync, fsync, lstatSync, read, unlinkSync, writeFile } from 'node:fs';
import { rename } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { CellFolder, CellFolders } from '#contracts';
import {
  childPath,
  errnoOf,
  openPath,
  isPlain,
  openFolder,
  openHeld,
  refuseUnlessPlain,
  descriptorPath,
  unlessMissing,
  walk,
} from './descriptor.ts';
import type { OpenDescriptor } from './descriptor.ts';
import { checkNames, parsePath, pathProblem, quoted, reservedPrefix } from './paths.ts';
import { sliceOf } from './slice.ts';

/** Linux only: elsewhere `open` throws `files_unsupported`. */
export const jailedCellFolders = (root: string): CellFolders => {
  const home = resolve(root);
  return {
    open: (run: RunId, cell: CellId): CellFolder => {
      if (process.platform !== 'linux' || !existsSync('/proc/self/fd')) throw new CloisterError('files_unsupported');
      checkNames(run, cell);
      return jailedWorkspace(home, ['runs', run, cell, 'outputs']);
    },
  };
};

const jailedWorkspace = (root: string, base: readonly string[]): CellFolder => {
  let swept = false;
  /** Folders whose names are on the disk. */
  const safe = new Set<string>();
  const sweepOnce = async (): Promise<void> => {
    if (!swept) await sweep(root, base);
    swept = true;
  };

  return {
    write: (path, bytes) => {
      const copy = new Uint8Array(bytes);
      return named(
        () => new CloisterError('file_refused', `A folder of ${quoted(path)} was removed.`),
        async () => {
          const { folders, name } = placeOf(path);
          await sweepOnce();
          using folder = openFolder(root, [...base, ...folders], true);
          await replaceFile(folder, name, copy);
          await syncNames(root, [...base, ...folders], safe);
        },
      );
    },
    read: (path, from, length) =>
      named(
        () => new CloisterError('file_missing', `There is no ${quoted(path)}.`),
        async () => {
          const { folders, name } = placeOf(path);
          using folder = openFolder(root, [...base, ...folders], false);
          return await readPart(folder, name, { from, length });
        },
      ),
    list: () =>
      named(
        () => new CloisterError('file_missing'),
        () => listFiles(root, base),
      ),
  };
};

const placeOf = (path: string): { readonly folders: readonly string[]; readonly name: string } => {
  const names = parsePath(path);
  return { folders: names.slice(0, -1), name: names.at(-1)! };
};

type Part = { readonly from: number | undefined; readonly length: number | undefined };

const readPart = async (folder: OpenDescriptor, name: string, part: Part): ReturnType<CellFolder['read']> => {
  using held = openPath(folder, name);
  const stat = fstatSync(held.fd);
  refuseUnlessPlain(name, stat);
  // By its descriptor: this opens the very file that was judged, whatever its name leads to by now.
  using file = openHeld(descriptorPath(held), constants.O_RDONLY | constants.O_NONBLOCK);
  const { start, end } = sliceOf(stat.size, part.from, part.length);
  const bytes = new Uint8Array(end - start);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await readAsync(file.fd, bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return { bytes: bytes.subarray(0, filled), size: stat.size };
};

const readAsync = promisify(read);
const writeAsync = promisify(writeFile);
const syncAsync = promisify(fdatasync);
const syncFolderAsync = promisify(fsync);

/** Names being written by this process; a reserved name that is not here was left by a crash. */
const underWay = new Set<string>();

const replaceFile = async (folder: OpenDescriptor, name: string, bytes: Uint8Array): Promise<void> => {
  const before = unlessMissing(() => lstatSync(childPath(folder, name)));
  if (before !== undefined) refuseUnlessPlain(name, before);

  const draft = `${reservedPrefix}${randomBytes(12).toString('hex')}`;
  underWay.add(draft);
  try {
    await writeNew(childPath(folder, draft), bytes);
    // If the target was swapped since: `rename` replaces a link itself, and fails at a folder.
    await rename(childPath(folder, draft), childPath(folder, name));
  } catch (error) {
    remove(folder, draft);
    throw error;
  } finally {
    underWay.delete(draft);
  }
};

const writeNew = async (place: string, bytes: Uint8Array): Promise<void> => {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  using file = openHeld(place, flags, 0o600);
  await writeAsync(file.fd, bytes);
  // Before the rename: after a power cut the new name must not stand for an empty file.
  await syncAsync(file.fd);
};

/** After a power cut a file is where it was said to be: its name, and those of the folders above it, are synced too. */
const syncNames = async (root: string, names: readonly string[], safe: Set<string>): Promise<void> => {
  await syncFolder(root, names);
  for (let depth = names.length; depth > 0; depth--) {
    const path = names.slice(0, depth).join('/');
    if (safe.has(path)) return;
    await syncFolder(root, names.slice(0, depth - 1));
    safe.add(path);
  }
};

const syncFolder = async (root: string, names: readonly string[]): Promise<void> => {
  using held = openFolder(root, names, false);
  using folder = openHeld(descriptorPath(held), constants.O_RDONLY | constants.O_DIRECTORY);
  await syncFolderAsync(folder.fd);
};

/** As well as it can: what stays is never listed, and the next one to open the cell sweeps again. */
const remove = (folder: OpenDescriptor, draft: string): void => {
  try {
    unlinkSync(childPath(folder, draft));
  } catch {}
};

/** Removes what a crash left half-written. Only the owner of a run writes, so only a writer sweeps. */
const sweep = async (root: string, base: readonly string[]): Promise<void> => {
  using outputs = unlessMissing(() => openFolder(root, base, false));
  if (outputs === undefined) return;
  for await (const { folder, name } of walk(outputs)) {
    if (name.startsWith(reservedPrefix) && !underWay.has(name)) remove(folder, name);
  }
};

const listFiles = async (root: string, base: readonly string[]): ReturnType<CellFolder['list']> => {
  const files: { path: string; bytes: number }[] = [];
  using outputs = unlessMissing(() => openFolder(root, base, false));
  if (outputs === undefined) return files;
  for await (const { path, stat } of walk(outputs)) {
    if (isPlain(stat) && pathProblem(path) === undefined) files.push({ path, bytes: stat.size });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
};

/** Errors of the system that speak of the path, not of the disk. */
const pathErrors = new Set([
  'EACCES',
  'EEXIST',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOTDIR',
  'ENOTEMPTY',
  'ENXIO',
  'EPERM',
]);

/** Turns the system's errors into ours. Their words, which hold host paths, go no further. */
const named = async <T>(gone: () => CloisterError, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    const errno = errnoOf(error);
    if (errno === 'ENOENT') throw gone();
    if (errno !== undefined && pathErrors.has(errno))
      throw new CloisterError('file_refused', `The system refused it: ${errno}.`);
    if (error instanceof RangeError) throw new CloisterError('file_refused', 'It is too large to be read at once.');
    throw new CloisterError('store_failed', `The system reports ${errno ?? 'an error without a code'}.`);
  }
};
