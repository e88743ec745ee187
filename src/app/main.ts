// The `cloister` command: passes the real terminal, signals and clock to the command-line headend.
import { randomUUID } from 'node:crypto';
import { fstatSync, writeSync } from 'node:fs';
import { access, appendFile, constants, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { runCli, terminalLines } from '#headends/cli';
import type { CliRuntime, CliStream, CliWorld, CliFiles, CliTasks } from '#headends/cli';
import type { CommandAgents } from './command-agents.ts';
import { buildName, packageFolder, packageVersion } from './package-folder.ts';
import { systemLaunchEnvironment } from './system-world.ts';

const templates = new URL('templates/start/', packageFolder);

export const main = async (args: readonly string[]): Promise<void> => {
  const [stdout, stderr] = [outputStream(process.stdout), outputStream(process.stderr)];
  let exitCode: number | undefined;
  // A signal that arrives after the command has ended must not change its exit code.
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => exitCode !== undefined && process.exit(exitCode));
  const ended = await runCli(args, cliWorld(stdout, stderr, { store: null }));
  process.exitCode = exitCode = ended;
  const writeError = await stdout.flush();
  if (writeError !== null) stderr.write(`error: The output could not be written: ${writeError.message}\n`);
  await stderr.flush();
  // A tool that ignores its signal must not keep the command alive once everything is recorded.
  process.exit(writeError === null || ended !== 0 ? ended : 1);
};

/** `chosen`: the value of `--store`. */
const cliWorld = (stdout: CliStream, stderr: CliStream, chosen: { store: string | null }): CliWorld => ({
  version: packageVersion(),
  terminal: {
    stdout,
    stderr,
    colour: wantsColour(),
    stdin: () => (process.stdin.isTTY ? Promise.resolve(null) : readAll(process.stdin)),
    lines: () =>
      terminalLines({
        input: process.stdin,
        output: process.stderr,
        interrupt: () => void process.kill(process.pid, 'SIGINT'),
      }),
    edit: async (text) => (await import('./edit-text.ts')).editText(text),
  },
  system: {
    now: Date.now,
    timer: (ms, due) => {
      const timer = setTimeout(due, ms);
      return () => clearTimeout(timer);
    },
    onInterrupt: (listener) => listen(['SIGINT', 'SIGTERM'], listener),
    openBrowser: async (link) => (await import('./open-browser.ts')).openBrowser(link),
    onStrayError: (listener) => listen(['uncaughtException', 'unhandledRejection'], listener),
  },
  files: fileWorld,
  runtime: cliRuntime(chosen),
  tasks: taskWorld,
  server: {
    serve: async (options, log) => (await import('./serve-world.ts')).serveWorld.serve({ ...options, ...chosen }, log),
    studio: async (options, log) => (await import('./open-studio.ts')).openStudio({ ...options, ...chosen }, log),
    worker: async (options, log) =>
      (await import('./run-worker.ts')).workerWorld.worker({ ...options, ...chosen }, log),
    driveOne: async (options, ...given) =>
      (await import('./run-worker.ts')).workerWorld.driveOne({ ...options, ...chosen }, ...given),
    reconcile: async (options) => (await import('./run-worker.ts')).workerWorld.reconcile({ ...options, ...chosen }),
    pageOfRun: async (cloister, run) => (await import('./page-of-run.ts')).pageOfRun(cloister, run),
    slackManifest: async (options) => (await import('./serve-world.ts')).serveWorld.slackManifest(options),
    makeToken: async (name) => (await import('./serve-world.ts')).serveWorld.makeToken(name),
  },
});

const listen = (events: readonly string[], listener: (event: unknown) => void): (() => void) => {
  for (const event of events) process.on(event, listener);
  return () => {
    for (const event of events) process.off(event, listener);
  };
};

/** Each command loads what it uses, so that the others start faster. */
const cliRuntime = (chosen: { store: string | null }): CliRuntime => {
  let loaded: Promise<CommandAgents> | undefined;
  const agents = (): Promise<CommandAgents> =>
    (loaded ??= import('./command-agents.ts').then(({ CommandAgents }) => new CommandAgents(() => chosen.store)));
  return {
    useStore: (url) => void (chosen.store = url),
    migrateStore: async (url) => (await import('./store-commands.ts')).migrateStore(url),
    copyStore: async (from, to) => (await import('./store-commands.ts')).copyStores(from, to),
    open: async (options) => (await agents()).open(options),
    staleQuestions: async (options) => (await agents()).staleQuestions(options),
    defaultAgent: async (config) => (await agents()).defaultAgent(config),
    ...onDemand,
  };
};

const onDemand: Omit<
  CliRuntime,
  'useStore' | 'migrateStore' | 'copyStore' | 'open' | 'staleQuestions' | 'defaultAgent'
> = {
  check: async ({ paths, syntaxOnly, connect, config }) => {
    const { checkAgents } = await import('./agents/check-agents.ts');
    return checkAgents(paths, { launch: systemLaunchEnvironment(config), syntaxOnly, connect });
  },
  verify: async (options) => {
    const { verifyAgent } = await import('./verify.ts');
    return verifyAgent(options);
  },
  import: async ({ config, ...options }) => {
    const { importAgents } = await import('./agents/import-agents.ts');
    return importAgents(options, systemLaunchEnvironment(config));
  },
  init: async (folder) => {
    const { initFolder } = await import('./agents/init-folder.ts');
    return initFolder(folder, templates, process.cwd());
  },
  makeKey: async () => {
    const { makeOperatorKey } = await import('#app/storage');
    const { operatorKeyVariable } = await import('#core/registry');
    return { variable: operatorKeyVariable, ...makeOperatorKey() };
  },
  migrate: async (workspace) => {
    const { migrateWorkspace } = await import('#adapters/stores');
    return migrateWorkspace(workspace, { build: buildName() });
  },
  agentHelp: async (path, config) => {
    const { agentHelp } = await import('./agents/agent-help.ts');
    return agentHelp(path, systemLaunchEnvironment(config));
  },
};

const wantsColour = (): boolean => {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return FORCE_COLOR !== '0';
};

// File access for the command line: reads tasks, writes plans and graphs.
const fileWorld: CliFiles = {
  readText: (path) => readFile(path, 'utf8'),
  readBytes: (path) => readFile(path),
  writeText: (path, text) => writeFile(path, text),
  appendText: (path, text) => appendFile(path, text, { flush: true }),
  writeBytes: (path, bytes) => replaceFile(path, bytes),
  whyNotWritable: async (path) => {
    const own = await whyNotWritable(path);
    return own === 'missing'
      ? folderProblem(await whyNotWritable(dirname(path)))
      : own === 'folder'
        ? 'it is a folder'
        : own;
  },
};

/** A file is there whole or as it was before; anything else, such as a pipe, is written to. */
const replaceFile = async (path: string, bytes: Uint8Array): Promise<void> => {
  const found = await stat(path).catch(() => null);
  if (found?.isFile() === false) return writeFile(path, bytes);
  const target = found === null ? path : await realpath(path);
  const aside = join(dirname(target), `.${randomUUID()}.new`);
  try {
    await writeFile(aside, bytes, { flag: 'wx', flush: true });
    await rename(aside, target);
  } finally {
    await rm(aside, { force: true });
  }
};

const taskWorld: CliTasks = {
  read: async (path, assignees) => {
    const { loadTasks } = await import('./agents/load-tasks.ts');
    return loadTasks(path, assignees, systemLaunchEnvironment());
  },
  ofTeam: async (path) => {
    const { teamTasks } = await import('./agents/load-tasks.ts');
    return teamTasks(path, systemLaunchEnvironment());
  },
  draw: async (form, tasks) => {
    const { drawMermaid, drawSvg } = await import('#core/tasks');
    return form === 'svg' ? drawSvg(tasks) : drawMermaid(tasks);
  },
};

/** Null: the file can be written. */
const whyNotWritable = async (path: string): Promise<string | null> => {
  try {
    const isFolder = (await stat(path)).isDirectory();
    await access(path, constants.W_OK);
    return isFolder ? 'folder' : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'it is not writable';
  }
};

const folderProblem = (why: string | null): string | null => {
  if (why === 'folder') return null;
  return why === 'missing' ? 'its folder does not exist' : 'its folder is not writable';
};

// stdout or stderr as the command line writes to it, and whether everything was written.
type OutputStream = CliStream & {
  /** Resolves when everything that can be written is written. Returns the write error; null also when the reader closed the pipe. */
  flush(): Promise<Error | null>;
};

/** A closed pipe or a full disk ends the output, not the run. */
const outputStream = (target: NodeJS.WriteStream & { readonly fd: number }): OutputStream => {
  const writes = isFile(target.fd) ? fileWriter(target.fd) : (text: string) => target.write(text);
  let failure: Error | null = null;
  let hasWritten = false;
  target.on('error', (error) => (failure ??= error));
  return {
    write(text) {
      hasWritten = true;
      if (failure !== null) return false;
      try {
        return writes(text);
      } catch (error) {
        failure = error as Error;
        return false;
      }
    },
    isTTY: target.isTTY,
    get columns() {
      return target.columns;
    },
    get rows() {
      return target.rows;
    },
    async flush() {
      if (hasWritten) await waitUntilDrained(target);
      return failure === null || isReaderGone(failure) ? null : failure;
    },
  };
};

const isFile = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
};

/** Node's stream calls write once, and does not report the part that a full disk did not accept. */
const fileWriter = (descriptor: number) => (text: string) => {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
  return true;
};

const waitUntilDrained = async (target: NodeJS.WriteStream): Promise<void> => {
  if (!target.destroyed && target.writable)
    await new Promise<void>((resolve) => void target.write('', () => resolve()));
  // The stream reports errors on a later tick.
  await new Promise(setImmediate);
};

const isReaderGone = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE' || error.code === 'ECONNRESET';
