// The command: the real terminal, signals and clock, handed to the command-line headend.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runCli } from '#headends/cli';
import type { CliStream, CliWorld } from '#headends/cli';
import { loadAgents } from './load-agents.ts';
import { openCloister } from './open-cloister.ts';

const fromSource = import.meta.url.endsWith('.ts');
const demoModule = new URL(
  fromSource ? '../../examples/research/agents.ts' : './examples/research/agents.js',
  import.meta.url,
);
const packageFile = new URL(fromSource ? '../../package.json' : '../package.json', import.meta.url);

export const main = async (args: readonly string[]): Promise<void> => {
  const code = await runCli(args, cliWorld());
  // A tool that ignores its signal must not keep the command alive once everything is recorded.
  process.exitCode = code;
  await flushed(process.stdout);
  await flushed(process.stderr);
  process.exit(code);
};

const cliWorld = (): CliWorld => ({
  stdout: stream(process.stdout),
  stderr: stream(process.stderr),
  version: (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version,
  colour: wantsColour(),
  demo: { agent: 'lead', question: 'Should a small team keep its data in SQLite or in DuckDB?' },
  now: Date.now,
  timer: (ms, due) => {
    const timer = setTimeout(due, ms);
    return () => clearTimeout(timer);
  },
  onInterrupt: (listener) => {
    process.on('SIGINT', listener);
    process.on('SIGTERM', listener);
    return () => {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    };
  },
  onStrayError: (listener) => {
    process.on('uncaughtException', listener);
    process.on('unhandledRejection', listener);
    return () => {
      process.off('uncaughtException', listener);
      process.off('unhandledRejection', listener);
    };
  },
  open: async ({ workspace, agents, demo }) => {
    const modules = demo ? [fileURLToPath(demoModule)] : agents;
    return openCloister({ workspace, agents: await loadAgents(modules) });
  },
});

/** A reader that has gone away ends the output, not the run. */
const stream = (target: NodeJS.WriteStream): CliStream => {
  let broken = false;
  target.on('error', () => (broken = true));
  return {
    write: (text) => (broken ? false : target.write(text)),
    isTTY: target.isTTY,
    get columns() {
      return target.columns;
    },
    get rows() {
      return target.rows;
    },
  };
};

const wantsColour = (): boolean => {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return FORCE_COLOR !== '0';
};

const flushed = (target: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (target.destroyed || !target.writable) resolve();
    else target.write('', () => resolve());
  });
