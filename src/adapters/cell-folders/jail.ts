// Cell folders on disk: a cell reaches its own `<root>/runs/<run>/<cell>/outputs/`, and nothing else.
//
//   jail-descriptors-only. Reading and writing go only through open descriptors (`descriptor.ts`); links are refused, not
//       followed.
//   jail-writes-whole-files. A file is written completely under a reserved name and then renamed: a crash leaves the old file
//       or the new one.
//   jail-lists-what-it-reads. `list` shows exactly the files that `read` accepts.
//   jail-hides-host-paths. An error never contains a path of the host.
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
  errorCode,
  openPath,
  isRegularFile,
  openFolder,
  openDescriptor,
  requireRegularFile,
  descriptorPath,
  unlessMissing,
  walkFiles,
} from './descriptor.ts';
import type { OpenDescriptor } from './descriptor.ts';
import { checkNames, parsePath, pathProblem, quoteName, reservedPrefix, clampRange } from './paths.ts';

/** Linux only: elsewhere `open` throws `files_unsupported`. */
export const jailedCellFolders = (root: string): CellFolders => {
  const rootPath = resolve(root);
  return {
    open: (run: RunId, cell: CellId): CellFolder => {
      if (process.platform !== 'linux' || !existsSync('/proc/self/fd')) throw new CloisterError('files_unsupported');
      checkNames(run, cell);
      return jailedCellFolder(rootPath, ['runs', run, cell, 'outputs']);
    },
  };
};

const jailedCellFolder = (root: string, base: readonly string[]): CellFolder => {
  let swept = false;
  /** Folders whose names are synced to disk. */
  const synced = new Set<string>();
  const sweepOnce = async (): Promise<void> => {
    if (!swept) await sweep(root, base);
    swept = true;
  };

  return {
    write: (path, bytes) => {
      const copy = new Uint8Array(bytes);
      return translateErrors(
        () => new CloisterError('file_refused', `A parent folder of ${quoteName(path)} was removed.`),
        async () => {
          const { folders, name } = splitPath(path);
          await sweepOnce();
          using folder = openFolder(root, [...base, ...folders], true);
          await replaceFile(folder, name, copy);
          await syncNames(root, [...base, ...folders], synced);
        },
      );
    },
    read: (path, from, length) =>
      translateErrors(
        () => new CloisterError('file_missing', `${quoteName(path)} does not exist.`),
        async () => {
          const { folders, name } = splitPath(path);
          using folder = openFolder(root, [...base, ...folders], false);
          return await readRange(folder, name, { from, length });
        },
      ),
    list: () =>
      translateErrors(
        () => new CloisterError('file_missing'),
        () => listFiles(root, base),
      ),
  };
};

const splitPath = (path: string): { readonly folders: readonly string[]; readonly name: string } => {
  const names = parsePath(path);
  return { folders: names.slice(0, -1), name: names.at(-1)! };
};

type ByteRange = { readonly from: number | undefined; readonly length: number | undefined };

const readRange = async (folder: OpenDescriptor, name: string, range: ByteRange): ReturnType<CellFolder['read']> => {
  using descriptor = openPath(folder, name);
  const stat = fstatSync(descriptor.fd);
  requireRegularFile(name, stat);
  // Opened by its descriptor: this is the file that was checked, whatever its name leads to by now.
  using file = openDescriptor(descriptorPath(descriptor), constants.O_RDONLY | constants.O_NONBLOCK);
  const { start, end } = clampRange(stat.size, range.from, range.length);
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

/** Drafts that this process is writing; any other reserved name was left by a crash. */
const draftsInFlight = new Set<string>();

const replaceFile = async (folder: OpenDescriptor, name: string, bytes: Uint8Array): Promise<void> => {
  const before = unlessMissing(() => lstatSync(childPath(folder, name)));
  if (before !== undefined) requireRegularFile(name, before);

  const draft = `${reservedPrefix}${randomBytes(12).toString('hex')}`;
  draftsInFlight.add(draft);
  try {
    await writeNew(childPath(folder, draft), bytes);
    // If the target was swapped meanwhile: `rename` replaces a link itself, and fails on a folder.
    await rename(childPath(folder, draft), childPath(folder, name));
  } catch (error) {
    remove(folder, draft);
    throw error;
  } finally {
    draftsInFlight.delete(draft);
  }
};

const writeNew = async (path: string, bytes: Uint8Array): Promise<void> => {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  using file = openDescriptor(path, flags, 0o600);
  await writeAsync(file.fd, bytes);
  // Synced before the rename: after a power cut the new name must not point to an empty file.
  await syncAsync(file.fd);
};

/** Syncs the file's name and those of the folders above it, so that the file is still there after a power cut. */
const syncNames = async (root: string, names: readonly string[], synced: Set<string>): Promise<void> => {
  await syncFolder(root, names);
  for (let depth = names.length; depth > 0; depth--) {
    const path = names.slice(0, depth).join('/');
    if (synced.has(path)) return;
    await syncFolder(root, names.slice(0, depth - 1));
    synced.add(path);
  }
};

const syncFolder = async (root: string, names: readonly string[]): Promise<void> => {
  using descriptor = openFolder(root, names, false);
  using folder = openDescriptor(descriptorPath(descriptor), constants.O_RDONLY | constants.O_DIRECTORY);
  await syncFolderAsync(folder.fd);
};

/** Best effort: a draft that stays is never listed, and the next process that opens the cell sweeps again. */
const remove = (folder: OpenDescriptor, draft: string): void => {
  try {
    unlinkSync(childPath(folder, draft));
  } catch {}
};

/** Removes drafts that a crash left behind. Only the owner of a run writes, so only a writer sweeps. */
const sweep = async (root: string, base: readonly string[]): Promise<void> => {
  using outputs = unlessMissing(() => openFolder(root, base, false));
  if (outputs === undefined) return;
  for await (const { folder, name } of walkFiles(outputs)) {
    if (name.startsWith(reservedPrefix) && !draftsInFlight.has(name)) remove(folder, name);
  }
};

const listFiles = async (root: string, base: readonly string[]): ReturnType<CellFolder['list']> => {
  const files: { path: string; bytes: number }[] = [];
  using outputs = unlessMissing(() => openFolder(root, base, false));
  if (outputs === undefined) return files;
  for await (const { path, stat } of walkFiles(outputs)) {
    if (isRegularFile(stat) && pathProblem(path) === undefined) files.push({ path, bytes: stat.size });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
};

/** System errors that are about the path, not about the disk. */
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

/** Turns system errors into ours. Their messages contain host paths and are dropped. */
const translateErrors = async <T>(onMissing: () => CloisterError, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    const errno = errorCode(error);
    if (errno === 'ENOENT') throw onMissing();
    if (errno !== undefined && pathErrors.has(errno))
      throw new CloisterError('file_refused', `The operating system refused the path: ${errno}.`);
    if (error instanceof RangeError)
      throw new CloisterError('file_refused', 'The file is too large to read in one call.');
    throw new CloisterError('store_failed', `The operating system reported ${errno ?? 'an error without a code'}.`);
  }
};
