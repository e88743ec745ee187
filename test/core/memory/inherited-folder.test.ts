// A turn's folder with the files that the turn before left.
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import { inheritedFolder } from '../../../src/core/memory/inherited-folder.ts';

const files = [{ path: 'a.txt', bytes: 3, sha256: 'ref' as never }];
const readBlob = async () => new TextEncoder().encode('old');

// invariant: inherited-paths-checked
test('a path that the cell’s own folder refuses is refused, even if a file of that path was inherited', async () => {
  const own = memoryCellFolders().open('run' as never, 'cell' as never);
  expect(await inheritedFolder(own, files, readBlob).read('a.txt')).toMatchObject({ size: 3 });
  const refuses = async (): Promise<never> => {
    throw new CloisterError('file_refused', '"a.txt" is a link.');
  };
  const refusing = inheritedFolder({ ...own, read: refuses, write: refuses }, files, readBlob);
  await expect(refusing.read('a.txt')).rejects.toThrow('is a link');
  await expect(refusing.write('a.txt', new Uint8Array())).rejects.toThrow('is a link');
});
