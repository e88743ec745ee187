// Composition root: the only file that knows all parts.
import { resolve } from 'node:path';
import { CloisterError, recordFormats, Semaphore } from '#base';
import type { Agent, Cloister, IndeterminatePolicy, KeepRules, RunStartInfo, Store } from '#contracts';
import { memoryStore } from '#adapters/stores';
import { jailedCellFolders, memoryCellFolders } from '#adapters/cell-folders';
import type { Configs } from '#app/agents';
import { checkCloisterOptions } from './cloister-options.ts';
import { checkSchemas } from './check-schemas.ts';
import type { CloisterOptions } from './cloister-options.ts';
import { readOperatorKey } from '#app/storage';
import type { OperatorKey } from '#app/storage';
import { operatorKeyText, storePassword, storePasswordVariable } from '#core/registry';
import { exportFolder, readConversationSettings } from '#app/conversations';
import { configsFor, resolveAgentResources } from './resolve-resources.ts';
import { LocalCloister } from './local-cloister.ts';
import { openStorePlace } from './open-store.ts';
import type { StorePlace } from './open-store.ts';
import { buildName } from './package-folder.ts';
import { StallMonitor } from './stall-monitor.ts';
import { systemClock, systemIds, systemPauses, systemStallClock } from './system-world.ts';

/**
 * Opens a runtime with these agents. Throws a CloisterError if an agent, a model or an option cannot be used. Close it when you
 * are done, or write `await using`. Code can give each run its own values of variables: what is missing here is reported by `run`.
 */
export const openCloister = (options: CloisterOptions): Promise<Cloister> =>
  openConfigured(options, { runsBringEnv: true });

type ConfiguredOptions = {
  /** The config, if a command has read it already. */
  readonly configs?: Configs;
  /** Whether runs can bring values for variables. If not, a missing one is reported now. */
  readonly runsBringEnv?: boolean;
  /** Instead of the workspace. */
  readonly archive?: Store;
};

export const openConfigured = async (
  options: CloisterOptions,
  { configs: read, runsBringEnv = false, archive }: ConfiguredOptions = {},
): Promise<Cloister> => {
  checkCloisterOptions(options);
  const configs = read ?? configsFor(options);
  const { schemaProblem, toolSchemaProblem, validate } = await import('#adapters/schemas');
  const resources = await resolveAgentResources(options, { configs, runsBringEnv });
  const { agents } = resources;
  const duplicate = agents.find((agent, index) => agents.findIndex(({ name }) => name === agent.name) !== index);
  if (duplicate !== undefined) throw new CloisterError('agent_invalid', duplicateAgentText(duplicate.name, agents));
  const folder = options.workspace ?? './.cloister';
  for (const agent of agents) checkSchemas(agent, { schemaProblem, toolSchemaProblem });
  const inMemory = options.store === 'memory' || archive !== undefined;
  const clock = options.clock ?? systemClock;
  const now = (): number => clock.now();
  const files = inMemory ? null : exportFolder(resolve(folder));
  const conversationSettings = readConversationSettings(files, {
    ...options,
    defaultAgent: await resolveDefaultAgent(options, configs),
  });
  const store =
    archive ??
    (inMemory ? memoryStore({}, now) : await openStorePlace(await storePlace(folder, options, configs), now));
  const workspaces = inMemory ? memoryCellFolders() : jailedCellFolders(folder);
  const cloister = new LocalCloister(agents, {
    store,
    workspaces,
    validate,
    schemaProblem,
    toolSchemaProblem,
    clock,
    ids: options.ids ?? systemIds,
    lanes: createLanes(options.concurrency),
    resources,
    startInfo: runStartInfo(options),
    recordedBy: { format: recordFormats.newest, build: buildName() },
    indeterminate: options.indeterminate ?? (await configuredPolicy(options, configs)),
    conversationSettings,
    serverIdleMs: options.serverIdleMs,
    onQuestion: options.onQuestion,
    stalls: stallMonitor(options, now),
    // Where time is not real, how long work takes must not decide when other work is done.
    openPauses: options.clock === undefined ? systemPauses : undefined,
    operatorKey: () => operatorKeyIn(configs),
    keep: () => keepRulesFor(options, configs, read !== undefined),
  });
  // What a crash has left of a deletion goes now. Where it cannot, such as in a workspace that is read-only, it goes later.
  await cloister.storage.finishDeletions().catch(() => undefined);
  return cloister;
};

/** If all agents are in code, no config is read for the password. */
const storePlace = async (
  workspace: string,
  { store, agents }: CloisterOptions,
  configs: Configs,
): Promise<StorePlace> => {
  if (store === undefined) return { workspace };
  if (agents.length > 0 && agents.every((agent) => typeof agent !== 'string'))
    return { workspace, store, password: configs.launch.env[storePasswordVariable] };
  await configs.read([]);
  return { workspace, store, password: storePassword(configs.forFile(null).layers) };
};

/** From the same places as the values of providers and servers. */
const operatorKeyIn = (configs: Configs): OperatorKey | null => {
  const text = operatorKeyText(configs.forFile(null).layers);
  return text === undefined ? null : readOperatorKey(text);
};

/** With a clock of the caller's own, time is not real, and nothing is measured unless the caller says by what. */
const stallMonitor = ({ clock, stallClock }: CloisterOptions, now: () => number): StallMonitor | undefined => {
  const watched = stallClock ?? (clock === undefined ? systemStallClock : undefined);
  return watched === undefined ? undefined : new StallMonitor(watched, now);
};

/** The one in the options, or the one in the config. If all agents are in code, no config is read. */
const resolveDefaultAgent = async (options: CloisterOptions, configs: Configs): Promise<string | null> => {
  if (options.defaultAgent !== undefined) return options.defaultAgent;
  if (options.agents.every((agent) => typeof agent !== 'string')) return null;
  return configs.defaultAgent();
};

/** If all agents are in code, no config is read. */
const configuredPolicy = async (
  { agents }: CloisterOptions,
  configs: Configs,
): Promise<IndeterminatePolicy | undefined> =>
  agents.every((agent) => typeof agent !== 'string') ? undefined : ((await configs.indeterminatePolicy()) ?? undefined);

/** Read when it is needed: a command that only reads must not fail because of it. */
const keepRulesFor = ({ agents, keep }: CloisterOptions, configs: Configs, isCommand: boolean): KeepRules | null => {
  if (keep !== undefined) return keep;
  return isCommand || agents.some((agent) => typeof agent === 'string') ? configs.keepRules() : null;
};

/** A later command can load agents from paths again. Only the program itself knows agents that are in code. */
const runStartInfo = ({ agents, config, cwd = process.cwd() }: CloisterOptions): RunStartInfo | undefined => {
  const paths = agents.filter((agent) => typeof agent === 'string').map((path) => resolve(cwd, path));
  if (paths.length === 0) return undefined;
  return { agents: paths, cwd: resolve(cwd), ...(config === undefined ? {} : { config: resolve(cwd, config) }) };
};

/** Names the files, so that one of them can be renamed or left out. */
const duplicateAgentText = (name: string, agents: readonly Agent[]): string => {
  const files = agents.flatMap((agent) => (agent.name === name && agent.file !== null ? [agent.file] : []));
  return `There are two agents named "${name}"${files.length > 1 ? `: ${files.join(' and ')}` : ''}. Rename one, or pass only one of them.`;
};

const createLanes = (concurrency: CloisterOptions['concurrency'] = {}): ReadonlyMap<string, Semaphore> =>
  new Map(
    Object.entries(concurrency).flatMap(([lane, slots]) =>
      slots === undefined ? [] : [[lane, new Semaphore(slots)] as const],
    ),
  );
