// A cell's folder together with the files that the turn before left: they are listed and read as the cell's own.
//
//   inherited-files-not-shared. What is written goes to the cell's own folder, and hides the inherited file of that path.
//   inherited-paths-checked. The cell's own folder checks every path first, so an inherited file cannot be reached in a way
//       that an own one could not.
import { CloisterError } from '#base';
import type { CellFolder, InheritedFile } from '#contracts';

export const inheritedFolder = (
  own: CellFolder,
  files: readonly InheritedFile[],
  readBlob: (ref: string) => Promise<Uint8Array>,
): CellFolder => {
  const inherited = new Map(files.map((file) => [file.path, file]));
  return {
    write: async (path, bytes) => {
      refuseMisplaced(path, inherited);
      await own.write(path, bytes);
    },
    read: async (path, from = 0, length = Infinity) => {
      try {
        return await own.read(path, from, length);
      } catch (error) {
        const file = isMissing(error) ? inherited.get(path) : undefined;
        if (file === undefined) throw error;
        const bytes = await readBlob(file.sha256);
        return { bytes: bytes.subarray(from, from + length), size: bytes.length };
      }
    },
    list: async () => {
      const written = await own.list();
      const paths = new Set(written.map(({ path }) => path));
      const others = files.filter(({ path }) => !paths.has(path)).map(({ path, bytes }) => ({ path, bytes }));
      return [...written, ...others].sort((one, other) => (one.path < other.path ? -1 : 1));
    },
  };
};

/** As in one folder: a path cannot be a file and a folder. */
const refuseMisplaced = (path: string, inherited: ReadonlyMap<string, InheritedFile>): void => {
  const names = path.split('/');
  const above = names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
  const file = above.find((folder) => inherited.has(folder));
  if (file !== undefined) throw new CloisterError('file_refused', `${JSON.stringify(file)} is a file, not a folder.`);
  if ([...inherited.keys()].some((one) => one.startsWith(`${path}/`)))
    throw new CloisterError('file_refused', `${JSON.stringify(path)} is a folder, not a regular file.`);
};

const isMissing = (error: unknown): boolean => error instanceof CloisterError && error.code === 'file_missing';
