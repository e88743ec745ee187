// The `cloister` command: passes the real terminal, signals and clock to the command-line headend.
import { text as readAll } from 'node:stream/consumers';
import { runCli, terminalLines } from '#headends/cli';
import type { CliRuntime, CliStream, CliWorld } from '#headends/cli';
import type { CommandAgents } from './command-agents.ts';
import { fileWorld, taskWorld } from './file-world.ts';
import { outputStream } from './output-stream.ts';
import { buildName, packageFolder, packageVersion } from './package-folder.ts';
import { systemLaunchEnvironment } from './system-world.ts';

const templates = new URL('templates/start/', packageFolder);

export const main = async (args: readonly string[]): Promise<void> => {
  const [stdout, stderr] = [outputStream(process.stdout), outputStream(process.stderr)];
  let exitCode: number | undefined;
  // A signal that arrives after the command has ended must not change its exit code.
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => exitCode !== undefined && process.exit(exitCode));
  const ended = await runCli(args, cliWorld(stdout, stderr));
  process.exitCode = exitCode = ended;
  const writeError = await stdout.flush();
  if (writeError !== null) stderr.write(`error: The output could not be written: ${writeError.message}\n`);
  await stderr.flush();
  // A tool that ignores its signal must not keep the command alive once everything is recorded.
  process.exit(writeError === null || ended !== 0 ? ended : 1);
};

const cliWorld = (stdout: CliStream, stderr: CliStream): CliWorld => ({
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
  },
  system: {
    now: Date.now,
    timer: (ms, due) => {
      const timer = setTimeout(due, ms);
      return () => clearTimeout(timer);
    },
    onInterrupt: (listener) => listen(['SIGINT', 'SIGTERM'], listener),
    onStrayError: (listener) => listen(['uncaughtException', 'unhandledRejection'], listener),
  },
  files: fileWorld,
  runtime: cliRuntime(),
  tasks: taskWorld,
  server: {
    serve: async (options, log) => (await import('./serve-world.ts')).serveWorld.serve(options, log),
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
const cliRuntime = (): CliRuntime => {
  let loaded: Promise<CommandAgents> | undefined;
  const agents = (): Promise<CommandAgents> =>
    (loaded ??= import('./command-agents.ts').then(({ CommandAgents }) => new CommandAgents()));
  return {
    open: async (options) => (await agents()).open(options),
    defaultAgent: async (config) => (await agents()).defaultAgent(config),
    ...onDemand,
  };
};

const onDemand: Omit<CliRuntime, 'open' | 'defaultAgent'> = {
  check: async ({ paths, syntaxOnly, connect, config }) => {
    const { checkAgents } = await import('./agents/check-agents.ts');
    return checkAgents(paths, { launch: systemLaunchEnvironment(config), syntaxOnly, connect });
  },
  verify: async (options) => {
    const { verifyAgent } = await import('./verify.ts');
    return verifyAgent(options);
  },
  init: async (folder) => {
    const { initFolder } = await import('./agents/init-folder.ts');
    return initFolder(folder, templates, process.cwd());
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
