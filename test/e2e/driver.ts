// Real processes: the command, scripts that use the library, other programs, and the folders they work in.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cleanUpAfter } from '../cleanup.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { builtPackage } from './built-command.ts';
import { isReadOnly, ReadOnlyProcess } from './read-only-process.ts';

export const repo = fileURLToPath(new URL('../../', import.meta.url));
const built = await builtPackage(repo);
export const command = join(built, 'bin/cloister.js');
/** Imported first by modules in the repository: `cloister` is then the built package. */
export const ownPackage = pathToFileURL(join(built, 'bin/own-package.js')).href;
const moduleOf = (name: string): string => join(built, 'test/e2e/modules', name);
export const team = moduleOf('team.ts');
/** Parent for folders whose modules import `cloister`. */
export const inPackage = join(built, 'test');

export type ProcessResult = {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type StartedProcess = {
  readonly pid: number;
  /** Sent to its own process, not to its children. */
  kill(signal: NodeJS.Signals): void;
  write(input: string): void;
  /** Resolves once either stream contains it; rejects when the process ends without it. */
  printed(pattern: RegExp): Promise<void>;
  /** What it has printed so far. */
  output(): { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<ProcessResult>;
};

export type StartOptions = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Its whole standard input. */
  readonly input?: string;
};

/** Everything a test leaves behind is removed after it. */
const liveProcesses = new Set<() => void>();
const folders: string[] = [];
cleanUpAfter('file', () => {
  for (const kill of liveProcesses) kill();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export const newFolder = (parent = scratchFolder(), name = 'cloister-e2e-'): string => {
  const folder = mkdtempSync(join(parent, name));
  folders.push(folder);
  return folder;
};

/** What a user's shell would pass on, and nothing of the test runner. The cache halves the start time. */
const plainEnv = (): Record<string, string> => ({
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  HOME: process.env['HOME'] ?? tmpdir(),
  LANG: 'C.UTF-8',
  NODE_COMPILE_CACHE: join(repo, 'node_modules/.cache/e2e'),
});

export const start = (
  program: string,
  args: readonly string[],
  { cwd, env, input }: StartOptions = {},
): StartedProcess => {
  const child = spawn(program, args, { cwd: cwd ?? newFolder(), env: { ...plainEnv(), ...env } });
  const kill = () => child.kill('SIGKILL');
  liveProcesses.add(kill);
  const listeners = new Set<() => void>();
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const listener of listeners) listener();
    });
  child.stdin.on('error', () => {});
  if (input !== undefined) child.stdin.end(input);
  const ended = new Promise<ProcessResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      liveProcesses.delete(kill);
      resolve({ code, ...output });
    });
  });
  return {
    pid: child.pid ?? 0,
    kill: (signal) => void child.kill(signal),
    write: (text) => void child.stdin.write(text),
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const listen = () => {
          if (!pattern.test(output.stdout) && !pattern.test(output.stderr)) return;
          listeners.delete(listen);
          resolve();
        };
        listeners.add(listen);
        listen();
        ended.then(
          () => reject(new Error(`It ended without ${String(pattern)}:\n${output.stdout}\n${output.stderr}`)),
          reject,
        );
      }),
    output: () => ({ ...output }),
    ended,
  };
};

export const run = (program: string, args: readonly string[], options?: StartOptions): Promise<ProcessResult> =>
  start(program, args, options).ended;

export const startCloister = (args: readonly string[], options?: StartOptions): StartedProcess =>
  start(process.execPath, [command, ...args], options);

export const cloister = (args: readonly string[], options?: StartOptions): Promise<ProcessResult> =>
  startCloister(args, options).ended;

/** One of `modules/`. */
export const script = (name: string, args: readonly string[], options?: StartOptions): Promise<ProcessResult> =>
  run(process.execPath, [moduleOf(name), ...args], options);

const readOnlyProcess = new ReadOnlyProcess(() =>
  spawn(process.execPath, [moduleOf('read-only-commands.ts'), join(built, 'dist/main.js')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: plainEnv(),
  }),
);

/** A read-only command, for tests about its output rather than its process. */
export const readWithCloister = (
  args: readonly string[],
  { cwd }: Pick<StartOptions, 'cwd'> = {},
): Promise<ProcessResult> => {
  if (!isReadOnly(args)) throw new Error(`It does more than read: ${args.join(' ')}`);
  return readOnlyProcess.run(args, cwd ?? newFolder());
};

/** The one value on stdout: anything before or after it does not parse. */
export const value = ({ stdout }: ProcessResult): any => JSON.parse(stdout);

/** The same command with --json, and its value. */
export const cloisterJson = async (args: readonly string[], options: StartOptions = {}): Promise<any> => {
  const isLook = isReadOnly(args) && options.env === undefined && options.input === undefined;
  return value(await (isLook ? readWithCloister : cloister)([...args, '--json'], options));
};

export const fileAppears = (path: string): Promise<void> =>
  new Promise((resolve) => {
    const watcher = watch(dirname(path));
    const look = () => {
      if (!existsSync(path)) return;
      watcher.close();
      resolve();
    };
    watcher.on('change', (_event, name) => name === basename(path) && look());
    look();
  });

/** Two signals within 100 ms count as one key press. */
const nextKeyPress = () => passed(150);

/** On a busy machine, a key press may reach the process together with the one before, and counts as the same one then. */
export const pressUntil = async <T>(ended: Promise<T>, press: () => void): Promise<T> => {
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  for (;;) {
    await Promise.race([over, nextKeyPress()]);
    if (isOver) return ended;
    press();
  }
};

/** A stack or a warning of Node: what a user must never see. */
export const nodeNoise = /\n\s+at |node:internal|Warning:|Node\.js v/u;
