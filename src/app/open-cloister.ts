// Puts the parts together: the only place that knows everyone.
import { resolve } from 'node:path';
import { CloisterError, Semaphore } from '#base';
import type { Agent, Cloister, RunStartInfo } from '#contracts';
import { memoryStore, openSqliteStore } from '#adapters/stores';
import { jailedCellFolders, memoryCellFolders } from '#adapters/cell-folders';
import { checkSharedLimits } from '#core/orchestration';
import { checkSchemas } from './check-schemas.ts';
import type { CloisterOptions } from './cloister-options.ts';
import { exportFolder } from './conversations/export-folder.ts';
import { readConversationSettings } from './conversations/conversation-settings.ts';
import { resolveAgentResources, launchEnvironment } from './resolve-resources.ts';
import { LocalCloister } from './local-cloister.ts';
import { systemClock, systemIds } from './system-world.ts';

export const openCloister = async (options: CloisterOptions): Promise<Cloister> => {
  checkSharedLimits(options);
  const { parallel } = options;
  if (parallel !== undefined && !(Number.isInteger(parallel) && parallel >= 1 && parallel <= parallelMax))
    throw new CloisterError('options_invalid', `parallel: expected a whole number from 1 to ${parallelMax}.`);
  const { boundSchemaTime, schemaProblem, validate } = await import('#adapters/schemas');
  const equipped = await resolveAgentResources(options);
  const { agents } = equipped;
  const twice = agents.find((agent, index) => agents.findIndex(({ name }) => name === agent.name) !== index);
  if (twice !== undefined) throw new CloisterError('agent_invalid', twiceWords(twice.name, agents));
  const folder = options.workspace ?? './.cloister';
  for (const agent of agents) checkSchemas(agent, schemaProblem);
  const inMemory = options.store === 'memory';
  const clock = options.clock ?? systemClock;
  const now = (): number => clock.now();
  const files = inMemory ? null : exportFolder(resolve(folder));
  const kept = readConversationSettings(files, { ...options, defaultAgent: await defaultAgentOf(options) });
  const store = inMemory ? memoryStore(undefined, now) : await openSqliteStore(folder, { now });
  const workspaces = inMemory ? memoryCellFolders() : jailedCellFolders(folder);
  return new LocalCloister(agents, {
    store,
    workspaces,
    validate,
    schemaProblem,
    boundSchemaTime,
    clock,
    ids: options.ids ?? systemIds,
    lanes: lanesOf(options.concurrency),
    equipped,
    started: startedWith(options),
    kept,
  });
};

const parallelMax = 10_000;

/** The one that was given, or that of the config; where all agents are in code, none is read. */
const defaultAgentOf = async (options: CloisterOptions): Promise<string | null> => {
  if (options.defaultAgent !== undefined) return options.defaultAgent;
  if (options.agents.every((agent) => typeof agent !== 'string')) return null;
  const { defaultAgentIn } = await import('./agents/default-agent.ts');
  return (await defaultAgentIn(launchEnvironment(options))).agent;
};

/** Agents in code are known to the program that has them; paths can be found again. */
const startedWith = ({ agents, config, cwd = process.cwd() }: CloisterOptions): RunStartInfo | undefined => {
  const paths = agents.filter((agent) => typeof agent === 'string').map((path) => resolve(cwd, path));
  if (paths.length === 0) return undefined;
  return { agents: paths, cwd: resolve(cwd), ...(config === undefined ? {} : { config: resolve(cwd, config) }) };
};

/** Files are named, so that one can be renamed or left out. */
const twiceWords = (name: string, agents: readonly Agent[]): string => {
  const files = agents.flatMap((agent) => (agent.name === name && agent.file !== null ? [agent.file] : []));
  return `There are two agents named "${name}"${files.length > 1 ? `: ${files.join(' and ')}` : ''}. Rename one, or hand over only one of them.`;
};

const lanesOf = (concurrency: CloisterOptions['concurrency'] = {}): ReadonlyMap<string, Semaphore> =>
  new Map(
    Object.entries(concurrency).flatMap(([lane, slots]) =>
      slots === undefined ? [] : [[lane, new Semaphore(slots)] as const],
    ),
  );
