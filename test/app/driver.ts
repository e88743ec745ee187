// Access to the file system and the registry: each test has its own working folder and home folder, removed afterwards.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openCloister } from 'cloister';
import type { Agent, CloisterOptions } from 'cloister';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '#base';
import type { CheckReport, Problem } from '#contracts';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { checkAgents } from '../../src/app/agents/check-agents.ts';
import { Configs } from '../../src/app/agents/configs.ts';
import { loadRegistry } from '../../src/app/agents/registry.ts';
import type { LaunchEnvironment } from '../../src/app/agents/launch-environment.ts';
import { scratchFolder } from '../scratch-folder.ts';

/** Text, bytes, or a value written as JSON; paths that begin with `~/` are in the home folder. */
export type Files = Readonly<Record<string, string | Uint8Array | JsonObject>>;

/** The text of an agent file. Its own keys begin on line 5. */
export const ai = (keys = '', prompt = 'Do it.'): string =>
  `---\ndescription: Does it.\nusage: it\noutput: { format: text }\n${keys === '' ? '' : `${keys}\n`}---\n${prompt}\n`;

export type TestFolders = LaunchEnvironment & { path(name: string): string; write(files: Files): void };

export const createFolders = (
  files: Files = {},
  more: Partial<Pick<LaunchEnvironment, 'env' | 'config'>> = {},
): TestFolders => {
  const folder = realpathSync(mkdtempSync(join(scratchFolder(), 'cloister-agents-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [cwd, home] = [join(folder, 'work'), join(folder, 'home')];
  mkdirSync(cwd);
  mkdirSync(home);
  const path = (name: string): string => (name.startsWith('~/') ? join(home, name.slice(2)) : join(cwd, name));
  const write = (some: Files): void => {
    for (const [name, content] of Object.entries(some)) {
      mkdirSync(dirname(path(name)), { recursive: true });
      const isPlain = typeof content === 'string' || content instanceof Uint8Array;
      writeFileSync(path(name), isPlain ? content : JSON.stringify(content));
    }
  };
  write(files);
  return { cwd, home, env: {}, ...more, path, write };
};

export const load = (place: LaunchEnvironment, ...given: readonly (Agent | string)[]) =>
  loadRegistry(given, { configs: new Configs(place) });

/** With a default model, as an operator would configure one in the home folder. */
export const check = (
  place: LaunchEnvironment,
  paths: readonly string[],
  more: Omit<Parameters<typeof checkAgents>[1], 'launch'> = {},
) => {
  const config = join(place.home, '.ai-agent/.ai-agent.json');
  if (!existsSync(config)) {
    mkdirSync(dirname(config), { recursive: true });
    writeFileSync(config, '{ "defaults": { "models": ["ollama/some"] } }');
  }
  return checkAgents(paths, { launch: place, ...more });
};

/** `<file>:<line> <key>: <message>`, as users see it. */
export const problemLines = ({
  problems,
}: Pick<CheckReport, 'problems'> | { problems: readonly Problem[] }): readonly string[] =>
  problems.map(
    ({ file, line, key, message, nearest }) =>
      `${file}${line === null ? '' : `:${line}`}${key === null ? '' : ` ${key}`}: ${message}${nearest === null ? '' : ` (${nearest}?)`}`,
  );

type OpenOptions = Partial<Omit<CloisterOptions, 'agents' | 'cwd' | 'env' | 'models'>> & {
  readonly says?: readonly ScriptLine[];
};

/** Opened as by a user, but in memory; agents that name no model use the rehearsal. */
export const open = async (
  { cwd, env }: LaunchEnvironment,
  agents: readonly (Agent | string)[],
  { says, ...more }: OpenOptions = {},
) => {
  const model = rehearse(says ?? [{ reply: 'Done.' }], more.clock === undefined ? {} : { clock: more.clock });
  const cloister = await openCloister({ store: 'memory', agents, cwd, env, models: [model], ...more });
  onTestFinished(() => cloister.close());
  return { cloister, model };
};

/** Why it cannot be opened. */
export const openError = async (
  place: LaunchEnvironment,
  agents: readonly string[],
  more: OpenOptions = {},
): Promise<any> => {
  try {
    await open(place, agents, more);
  } catch (error) {
    return error;
  }
  throw new Error('It could be opened.');
};
