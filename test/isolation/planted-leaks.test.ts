// The two-run comparison is only worth what it catches: every planted leak must make it differ, and the untouched copy not.
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaks } from './planted-leaks.ts';
import type { Edit, Leak } from './planted-leaks.ts';
import type { Report } from './two-run.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const checkCopy = fileURLToPath(new URL('check-copy.ts', import.meta.url));
const planted = join(root, 'test/.planted');
/** One folder per process: two test runs in one checkout do not disturb each other. */
const mine = join(planted, `leaks-${process.pid}`);
const pairs = 120;
const seed = 20_261;
const processesMax = 2;

const untouched: Leak = { name: 'nothing', seenBy: 'child', edits: [] };
const checked = new Map<string, PromiseWithResolvers<Checked>>();
type Checked = { readonly exit: number; readonly report: Report | null; readonly stderr: string };

beforeAll(async () => {
  await removeAbandoned();
  for (const { name } of [untouched, ...leaks]) checked.set(name, Promise.withResolvers<Checked>());
  const queue = [untouched, ...leaks].entries();
  for (let worker = 0; worker < processesMax; worker++) void work(queue);
});

afterAll(() => rm(mine, { recursive: true, force: true }));

test('the untouched copy shows no difference', async () => {
  const { exit, report, stderr } = await resultOf(untouched);
  expect({ exit, difference: report?.difference, stderr }).toEqual({ exit: 0, difference: null, stderr: '' });
});

test.each(leaks.map((leak) => [leak.name, leak] as const))('a leak is caught: %s', async (_name, leak) => {
  const { exit, report, stderr } = await resultOf(leak);
  // 3: the comparison found a difference. Any other code means that the planted copy did not even run.
  expect({ exit, stderr }).toEqual({ exit: 3, stderr: '' });
  expect(report?.difference?.sink).toMatch(leak.seenBy === 'child' ? /^child: / : /^(?:parent|sibling): /u);
});

const resultOf = ({ name }: Leak): Promise<Checked> => checked.get(name)!.promise;

const work = async (queue: Iterator<[number, Leak]>): Promise<void> => {
  for (let next = queue.next(); next.done !== true; next = queue.next()) {
    const [index, leak] = next.value;
    const { promise, resolve, reject } = checked.get(leak.name)!;
    promise.catch(() => undefined);
    await plant(join(mine, String(index)), leak)
      .then((folder) => runCopy(folder, leak))
      .then(resolve, reject);
  }
};

const plant = async (folder: string, { edits }: Leak): Promise<string> => {
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

const runCopy = async (folder: string, { seenBy }: Leak): Promise<Checked> => {
  const args = [
    '--conditions=cloister-source',
    checkCopy,
    folder,
    String(pairs),
    String(seed),
    seenBy === 'child' ? 'down' : 'up',
  ];
  const result = await new Promise<Checked>((resolve) => {
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) => {
      const exit = error === null ? 0 : Number(error.code);
      resolve({ exit, report: stdout === '' ? null : (JSON.parse(stdout) as Report), stderr });
    });
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
