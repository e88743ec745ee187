// The files of a cell as one process reaches them: slowly, and not always.
import { CloisterError } from '#base';
import type { CellFolder } from '#contracts';
import { never } from './never.ts';
import type { Process } from './process.ts';

export const simulatedFiles = (process: Process, files: CellFolder): CellFolder => {
  const { faults, random } = process.world;
  const reach = async <T>(place: string, work: () => Promise<T>): Promise<T> => {
    if (!process.touch(place)) return never();
    if (faults.draw(faults.plan.disk / 4, 'file', { fails: 1 }) !== null)
      throw new CloisterError('store_failed', 'The operating system reported EIO.');
    // The file exists before the caller knows, or only some time later.
    const done = random.chance(0.5) ? work() : undefined;
    done?.catch(() => undefined);
    await process.pause(random.log(1, 5), 'file');
    return done ?? work();
  };
  return {
    write: (path, bytes) => reach('write file', () => files.write(path, bytes)),
    read: (path, from, length) => reach('read file', () => files.read(path, from, length)),
    list: () => reach('list files', () => files.list()),
  };
};
