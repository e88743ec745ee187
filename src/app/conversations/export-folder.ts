// Exported files in the workspace: each is written to a temporary file and renamed, so that nobody reads a partial one.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

export type ExportFolder = {
  /** `path`: already encoded segments. Returns the full path. Yields to the event loop between chunks. */
  write(path: readonly string[], pieces: Iterable<string | Uint8Array> | AsyncIterable<string>): Promise<string>;
  has(path: readonly string[]): boolean;
  /** Null when the file does not exist. */
  read(path: readonly string[]): Promise<string | null>;
  list(path: readonly string[]): Promise<readonly string[]>;
  remove(path: readonly string[]): Promise<void>;
};

const chunkBytes = 64 * 1024;

export const exportFolder = (folder: string): ExportFolder => ({
  async write(parts, pieces) {
    const path = join(folder, ...parts);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const aside = `${path}.${randomUUID()}.new`;
    try {
      await writePieces(aside, pieces);
      await rename(aside, path);
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
    return path;
  },
  has: (parts) => existsSync(join(folder, ...parts)),
  read: (parts) => unlessMissing(() => readFile(join(folder, ...parts), 'utf8'), null),
  list: (parts) => unlessMissing(() => readdir(join(folder, ...parts)), []),
  remove: (parts) => rm(join(folder, ...parts), { force: true }),
});

const writePieces = async (
  path: string,
  pieces: Iterable<string | Uint8Array> | AsyncIterable<string>,
): Promise<void> => {
  const file = await open(path, 'wx', 0o600);
  try {
    let waiting: Uint8Array[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      await file.writev(waiting);
      waiting = [];
      bytes = 0;
      await nextTurn();
    };
    for await (const piece of pieces) {
      const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece;
      waiting.push(chunk);
      bytes += chunk.length;
      if (bytes >= chunkBytes) await flush();
    }
    if (waiting.length > 0) await flush();
  } finally {
    await file.close();
  }
};

const unlessMissing = async <T>(look: () => Promise<T>, none: T): Promise<T> => {
  try {
    return await look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return none;
  }
};
