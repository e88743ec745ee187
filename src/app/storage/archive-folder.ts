// The folder of archives in a workspace. A file is there whole and durable, or not at all.
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CloisterError } from '#base';

export type ArchiveFolder = {
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Rejects with `archive_invalid` if there is no such file. */
  read(name: string): Promise<Uint8Array>;
  remove(name: string): Promise<void>;
  /** The names of its files. */
  list(): Promise<readonly string[]>;
};

export const archiveFolder = (workspace: string): ArchiveFolder => {
  const folder = join(workspace, 'archive');
  return {
    async write(name, bytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const aside = join(folder, `.${randomUUID()}.new`);
      try {
        const file = await open(aside, 'wx', 0o600);
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(aside, join(folder, name));
        await syncFolder(folder);
        await syncFolder(workspace);
      } finally {
        await rm(aside, { force: true });
      }
    },
    async read(name) {
      try {
        return await readFile(join(folder, name));
      } catch (error) {
        throw new CloisterError('archive_invalid', `${join(folder, name)} cannot be read.`, { cause: error });
      }
    },
    remove: (name) => rm(join(folder, name), { force: true }),
    async list() {
      try {
        return (await readdir(folder, { withFileTypes: true })).flatMap((entry) =>
          entry.isFile() ? [entry.name] : [],
        );
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
        throw new CloisterError('archive_invalid', `${folder} cannot be read.`, { cause: error });
      }
    },
  };
};

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
