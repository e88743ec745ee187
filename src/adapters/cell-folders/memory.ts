// Cell folders in memory. They refuse what the jail refuses, so that a rehearsal follows the same rules.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { CellFolder, CellFolders } from '#contracts';
import { checkNames, parsePath, quoteName, clampRange } from './paths.ts';

export const memoryCellFolders = (): CellFolders => {
  const cells = new Map<string, CellFolder>();
  return {
    open: (run: RunId, cell: CellId): CellFolder => {
      checkNames(run, cell);
      // probe: memory-workspace-key
      const key = `${run}/${cell}`;
      const folder = cells.get(key) ?? memoryCellFolder();
      cells.set(key, folder);
      return folder;
    },
  };
};

const memoryCellFolder = (): CellFolder => {
  const files = new Map<string, Uint8Array>();
  const folders = new Set<string>();

  const refuseMisplaced = (path: string): void => {
    const above = foldersAbove(path).find((folder) => files.has(folder));
    if (above !== undefined) throw new CloisterError('file_refused', `${quoteName(above)} is a file, not a folder.`);
    if (folders.has(path))
      throw new CloisterError('file_refused', `${quoteName(path)} is a folder, not a regular file.`);
  };

  return {
    write: async (path, bytes) => {
      parsePath(path);
      refuseMisplaced(path);
      for (const folder of foldersAbove(path)) folders.add(folder);
      files.set(path, new Uint8Array(bytes));
    },
    read: async (path, from, length) => {
      parsePath(path);
      refuseMisplaced(path);
      const file = files.get(path);
      if (file === undefined) throw new CloisterError('file_missing', `${quoteName(path)} does not exist.`);
      const { start, end } = clampRange(file.length, from, length);
      return { bytes: file.slice(start, end), size: file.length };
    },
    list: async () => [...files.keys()].sort().map((path) => ({ path, bytes: files.get(path)!.length })),
  };
};

const foldersAbove = (path: string): readonly string[] => {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
};
