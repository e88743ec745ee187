// A small disk that can be filled, on machines that let us mount one.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const diskMb = 256;

/** Null: this machine lets nobody mount one. */
export const mountDisk = (folder: string): (() => void) | null => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'none', folder], { stdio: 'ignore' });
    return () => void execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
};

/** Fills the disk while `work` goes on. */
export const onFullDisk = async <T>(folder: string, work: () => Promise<T>): Promise<T> => {
  const ballast = join(folder, 'ballast');
  try {
    for (let size = diskMb * 1024 * 1024; size >= 4_096; size = Math.floor(size / 2))
      try {
        writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
      } catch {
        // It does not fit whole; less may.
      }
    return await work();
  } finally {
    rmSync(ballast, { force: true });
  }
};
