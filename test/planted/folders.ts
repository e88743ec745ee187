// Where planted code lives while a test runs: one folder per process, so that two test runs in one checkout do not disturb
// each other.
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of the repository. Ends with a slash. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

const planted = join(root, 'test/.planted');
const mine = join(planted, `plants-${process.pid}`);
let made: Promise<string> | undefined;

/** The first call also removes what processes left behind that were killed. */
export const myFolder = (): Promise<string> => (made ??= make());

export const removeMine = async (): Promise<void> => {
  made = undefined;
  await rm(mine, { recursive: true, force: true });
};

const make = async (): Promise<string> => {
  for (const folder of await readdir(planted).catch(() => [])) {
    const pid = /^plants-(\d+)$/u.exec(folder)?.[1];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
      await rm(join(planted, folder), { recursive: true, force: true });
  }
  await mkdir(mine, { recursive: true });
  return mine;
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
