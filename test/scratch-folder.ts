// Where tests create their folders: in memory if there is room. These tests check what is written and read, not disk behaviour.
import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const memoryDisk = '/dev/shm';
const roomMin = 1_000_000_000;

export const scratchFolder = (): string => {
  try {
    accessSync(memoryDisk, constants.W_OK);
    const { bavail, bsize } = statfsSync(memoryDisk);
    return bavail * bsize > roomMin ? memoryDisk : tmpdir();
  } catch {
    return tmpdir();
  }
};
