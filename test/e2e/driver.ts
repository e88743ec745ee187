// Real processes: the command, scripts that use the library, other programs, and the folders they work in.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { atTheEndOf } from '../endings.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { builtPackage } from './built-command.ts';
import { onlyReads, Standing } from './standing.ts';

export const repo = fileURLToPath(new URL('../../', import.meta.url));
const built = await builtPackage(repo);
export const command = join(built, 'bin/cloister.js');
/** To be imported first by modules in the repository: `cloister` is the built package. */
export const ownPackage = pathToFileURL(join(built, 'bin/own-package.js')).href;
const moduleOf = (name: string): string => join(built, 'test/e2e/modules', name);
export const team = moduleOf('team.ts');
/** Where a folder can be made whose modules import `cloister`. */
export const inPackage = join(built, 'test');

export type Ended = {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type Started = {
  readonly pid: number;
  /** To its own process, not to its children. */
  kill(signal: NodeJS.Signals): void;
  write(input: string): void;
  /** Resolves once either stream has said it; rejects when the process ends without. */
  said(pattern: RegExp): Promise<void>;
  readonly ended: Promise<Ended>;
};

export type StartOptions = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** All that its standard input has. */
  readonly input?: string;
};

/** Whatever a test leaves behind goes with it. */
const living = new Set<() => void>();
const folders: string[] = [];
atTheEndOf('file', () => {
  for (const kill of living) kill();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export const newFolder = (parent = scratchFolder(), name = 'cloister-e2e-'): string => {
  const folder = mkdtempSync(join(parent, name));
  folders.push(folder);
  return folder;
};

/** What a shell of a user would hand down, and nothing of the test runner's. The cache halves the time of a start. */
const plainEnv = (): Record<string, string> => ({
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  HOME: process.env['HOME'] ?? tmpdir(),
  LANG: 'C.UTF-8',
  NODE_COMPILE_CACHE: join(repo, 'node_modules/.cache/e2e'),
});

export const start = (program: string, args: readonly string[], { cwd, env, input }: StartOptions = {}): Started => {
  const child = spawn(program, args, { cwd: cwd ?? newFolder(), env: { ...plainEnv(), ...env } });
  const kill = () => child.kill('SIGKILL');
  living.add(kill);
  const listeners = new Set<() => void>();
  const heard = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      heard[name] += text;
      for (const listener of listeners) listener();
    });
  child.stdin.on('error', () => {});
  if (input !== undefined) child.stdin.end(input);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      living.delete(kill);
      resolve({ code, ...heard });
    });
  });
  return {
    pid: child.pid ?? 0,
    kill: (signal) => void child.kill(signal),
    write: (text) => void child.stdin.write(text),
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const listen = () => {
          if (!pattern.test(heard.stdout) && !pattern.test(heard.stderr)) return;
          listeners.delete(listen);
          resolve();
        };
        listeners.add(listen);
        listen();
        ended.then(
          () => reject(new Error(`It ended without ${String(pattern)}:\n${heard.stdout}\n${heard.stderr}`)),
          reject,
        );
      }),
    ended,
  };
};

export const run = (program: string, args: readonly string[], options?: StartOptions): Promise<Ended> =>
  start(program, args, options).ended;

export const startCloister = (args: readonly string[], options?: StartOptions): Started =>
  start(process.execPath, [command, ...args], options);

export const cloister = (args: readonly string[], options?: StartOptions): Promise<Ended> =>
  startCloister(args, options).ended;

/** One of `modules/`. */
export const script = (name: string, args: readonly string[], options?: StartOptions): Promise<Ended> =>
  run(process.execPath, [moduleOf(name), ...args], options);

const standing = new Standing(() =>
  spawn(process.execPath, [moduleOf('standing.ts'), join(built, 'dist/main.js')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: plainEnv(),
  }),
);

/** A command that only reads, where what it says is the point, not that it is a process. */
export const looked = (args: readonly string[], { cwd }: Pick<StartOptions, 'cwd'> = {}): Promise<Ended> => {
  if (!onlyReads(args)) throw new Error(`It does more than read: ${args.join(' ')}`);
  return standing.carryOut(args, cwd ?? newFolder());
};

/** The one value on stdout: anything before or after it does not parse. */
export const value = ({ stdout }: Ended): any => JSON.parse(stdout);

/** The same command with --json, and its value. */
export const asked = async (args: readonly string[], options: StartOptions = {}): Promise<any> => {
  const isLook = onlyReads(args) && options.env === undefined && options.input === undefined;
  return value(await (isLook ? looked : cloister)([...args, '--json'], options));
};

export const appears = (path: string): Promise<void> =>
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

/** A stack or a warning of Node: what a user must never see. */
export const nodeNoise = /\n\s+at |node:internal|Warning:|Node\.js v/u;
