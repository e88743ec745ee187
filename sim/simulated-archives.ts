// The folder of archives on the simulated disk, as one process reaches it. A file is there whole, or not at all.
import { CloisterError } from '#base';
import type { ArchiveFolder } from '#app/storage';
import { never } from './never.ts';
import type { World } from './world.ts';

type Reacher = { touch(place: string): boolean; pause(ms: number, kind: string): Promise<void> };

export const simulatedArchives = (
  process: Reacher,
  { archives, faults, storageRandom: random }: World,
): ArchiveFolder => {
  const reach = async (place: string): Promise<void> => {
    if (!process.touch(place)) return never();
    if (faults.draw(faults.plan.disk / 2, 'archive', { fails: 1 }) !== null)
      throw new CloisterError('store_failed', 'The operating system reported ENOSPC.');
    await process.pause(random.log(1, 20), 'archive');
  };
  return {
    async write(name, bytes) {
      await reach('write archive');
      archives.set(name, bytes.slice());
      if (!process.touch('archive written')) await never();
    },
    async read(name) {
      await reach('read archive');
      const bytes = archives.get(name);
      if (bytes === undefined) throw new CloisterError('archive_invalid', `${name} cannot be read.`);
      return bytes.slice();
    },
    async remove(name) {
      await reach('remove archive');
      archives.delete(name);
      if (!process.touch('archive removed')) await never();
    },
    list: async () => [...archives.keys()],
  };
};
