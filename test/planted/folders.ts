// Where planted code lives while a test runs: one folder per process, so that two test runs in one checkout do not disturb
// each other.
import { readdirSync, rmSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of the repository. Ends with a slash. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

const planted = join(root, 'test/.planted');
const mine = join(planted, `plants-${process.pid}`);
let made: Promise<string> | undefined;

export const myFolder = (): Promise<string> => (made ??= make());

export const removeMine = async (): Promise<void> => {
  made = undefined;
  await rm(mine, { recursive: true, force: true });
};

const make = async (): Promise<string> => {
  await mkdir(mine, { recursive: true });
  removeAbandoned(planted, 'plants-');
  return mine;
};

/** Removes what killed processes left behind: folders with this prefix, followed by the process id. */
export const removeAbandoned = (folder: string, prefix: string): void => {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(prefix) ? /^\d+/u.exec(name.slice(prefix.length))?.[0] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(folder, name), { recursive: true, force: true });
  }
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
