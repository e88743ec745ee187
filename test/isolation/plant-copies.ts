// Copies of the package with something changed in them, and a process for each that checks it. Two at a time.
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit } from './planted-leaks.ts';

export type Copy = {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** The script beside this file that checks it, and what it is given besides the copy's folder. */
  readonly script: string;
  readonly args: readonly string[];
};

/** Exit code 0: nothing was found; 3: something was. Any other means that the copy did not even run. */
export type Checked = { readonly exit: number; readonly stdout: string; readonly stderr: string };

const root = fileURLToPath(new URL('../..', import.meta.url));
const planted = join(root, 'test/.planted');
const processesMax = 2;

/** Begins at once; each is asked for by its name. */
export const checkCopies = (copies: readonly Copy[]) => {
  // One folder per process: two test runs in one checkout do not disturb each other.
  const mine = join(planted, `leaks-${process.pid}`);
  const checked = new Map(copies.map(({ name }) => [name, Promise.withResolvers<Checked>()]));
  for (const { promise } of checked.values()) promise.catch(() => undefined);
  const queue = copies.entries();
  const work = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) {
      const [index, copy] = next.value;
      const { resolve, reject } = checked.get(copy.name)!;
      await plant(join(mine, String(index)), copy.edits)
        .then((folder) => run(folder, copy))
        .then(resolve, reject);
    }
  };
  const start = async (): Promise<void> => {
    await removeAbandoned();
    await Promise.all(Array.from({ length: processesMax }, work));
  };
  void start();
  return {
    of: async (name: string): Promise<Checked> => checked.get(name)!.promise,
    remove: async (): Promise<void> => rm(mine, { recursive: true, force: true }),
  };
};

const plant = async (folder: string, edits: readonly Edit[]): Promise<string> => {
  await mkdir(folder, { recursive: true });
  const { name, version, type, imports, exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version, type, imports, exports }));
  await cp(join(root, 'src'), join(folder, 'src'), { recursive: true });
  for (const edit of edits) await apply(folder, edit);
  return folder;
};

const apply = async (folder: string, { file, find, put }: Edit): Promise<void> => {
  const path = join(folder, file);
  const text = await readFile(path, 'utf8');
  const times = text.split(find).length - 1;
  if (times !== 1)
    throw new Error(`The anchor of a planted leak occurs ${times} times in ${file}, not once. Anchor: ${find}`);
  await writeFile(
    path,
    text.replace(find, () => put),
  );
};

const run = async (folder: string, { script, args }: Copy): Promise<Checked> => {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const result = await new Promise<Checked>((resolve) => {
    const all = ['--conditions=cloister-source', path, folder, ...args];
    execFile(process.execPath, all, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ exit: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
  await rm(folder, { recursive: true, force: true });
  return result;
};

const removeAbandoned = async (): Promise<void> => {
  for (const folder of await readdir(planted).catch(() => [])) {
    const pid = /^leaks-(\d+)$/u.exec(folder)?.[1];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
      await rm(join(planted, folder), { recursive: true, force: true });
  }
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
