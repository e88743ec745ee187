// The `cloister` command: passes the real terminal, signals and clock to the command-line headend.
import { text as readAll } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCli, terminalLines } from '#headends/cli';
import type { CliRuntime, CliStream, CliWorld } from '#headends/cli';
import type { Configs, LaunchEnvironment } from '#app/agents';
import { fileWorld, taskWorld } from './file-world.ts';
import { lazyServeWorld } from './lazy-serve-world.ts';
import { outputStream } from './output-stream.ts';
import { buildName, packageFolder, packageVersion } from './package-folder.ts';
import { systemLaunchEnvironment } from './system-world.ts';

const demoFolder = fileURLToPath(new URL('examples/research', packageFolder));
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
  server: lazyServeWorld,
});

const listen = (events: readonly string[], listener: (event: unknown) => void): (() => void) => {
  for (const event of events) process.on(event, listener);
  return () => {
    for (const event of events) process.off(event, listener);
  };
};

/** Each command loads what it uses, so that the others start faster. */
const cliRuntime = (configsFor = configsByOption()): CliRuntime => ({
  open: async ({ workspace, agents, agent, demo = false, config = null, ofRun, offline = false, parallel = null }) => {
    const { openCloister, openConfigured } = await import('./open-cloister.ts');
    if (demo) return openCloister({ workspace, cwd: demoFolder, agents: ['lead.ai'] });
    const configs = await configsFor(config);
    const defaultAgent = await configs.defaultAgent();
    const given = { workspace, offline, defaultAgent, ...(config === null ? {} : { config }) };
    if (ofRun !== undefined && agents.length === 0) {
      const { readRunStart } = await import('./read-run-start.ts');
      return openCloister({ ...(await readRunStart(workspace, ofRun)), ...given });
    }
    const parallelOption = parallel === null ? {} : { parallel };
    const paths = await pathsFor(agents, agent, configs);
    return openConfigured({ ...given, ...parallelOption, agents: paths }, configs);
  },
  defaultAgent: async (config) => {
    const configs = await configsFor(config);
    const agent = await configs.defaultAgent();
    if (agent !== null || configs.problems.length === 0) return agent;
    const { problemsError } = await import('#app/agents');
    throw problemsError(configs.problems);
  },
  check: async ({ paths, syntaxOnly, connect, config }) => {
    const { checkAgents } = await import('./agents/check-agents.ts');
    return checkAgents(paths, { launch: launchWith(config), syntaxOnly, connect });
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
    return agentHelp(path, launchWith(config));
  },
});

const launchWith = (config: string | null): LaunchEnvironment => ({
  ...systemLaunchEnvironment(),
  ...(config === null ? {} : { config }),
});

/** What one command has read, by `--config`. */
const configsByOption = (): ((config: string | null) => Promise<Configs>) => {
  const read = new Map<string | null, Configs>();
  return async (config) => {
    const agents = await import('#app/agents');
    const configs = read.get(config) ?? new agents.Configs(launchWith(config));
    read.set(config, configs);
    return configs;
  };
};

/** The given paths; without any, the agent by name: in this folder, in the folders of the config, or in the home folder. */
const pathsFor = async (
  given: readonly string[],
  agent: string | undefined,
  configs: Configs,
): Promise<readonly string[]> => {
  if (given.length > 0 || agent === undefined) return given;
  const { findAgent } = await import('#app/agents');
  const found = await findAgent(agent, configs);
  return found === null ? [] : [found];
};

const wantsColour = (): boolean => {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return FORCE_COLOR !== '0';
};
