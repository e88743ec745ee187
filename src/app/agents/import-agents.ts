// `cloister import`: writes agents of other runtimes as agent files, and says what is not as it was.
//
//   import-overwrites-nothing. A file that exists with other content is left alone, and that is said.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { agentNameFromPath, CloisterError, isObject, toAgentName } from '#base';
import type { JsonObject } from '#base';
import type { ImportedFile, ImportNote, ImportReport } from '#contracts';
import { importConfig } from '#adapters/config';
import { parseYaml } from '#adapters/yaml';
import { foreignAgentText, foreignDisplayName, importAgentFile, parseDefaults, readForeignAgent } from '#core/registry';
import { includedNames, resolveInside } from './build-agents.ts';
import { Configs, perAgentKeyProblems } from './configs.ts';
import { isAgentFile, isForeign, listAgentFiles, listForeignAgents, pathKind } from './find-files.ts';
import { findForeignSkills } from './import-skills.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { runtimeTools } from './required-config.ts';

type ImportOptions = { readonly path: string; readonly to: string; readonly dryRun: boolean };

export const importAgents = async (options: ImportOptions, launch: LaunchEnvironment): Promise<ImportReport> => {
  const from = resolve(launch.cwd, options.path);
  const to = resolve(launch.cwd, options.to);
  const kind = pathKind(from);
  if (kind === 'missing') throw new CloisterError('options_invalid', `No such file or folder: ${options.path}.`);
  if (kind === 'file' && !isConfigFile(from) && !isAgentFile(from) && !isForeign(from))
    throw new CloisterError(
      'options_invalid',
      `${options.path} is not an agent of a runtime that is known here: expected ${importedKinds}.`,
    );
  const root = kind === 'folder' ? from : dirname(from);
  const found = kind === 'folder' ? foreignFiles(from).filter((file) => to === from || !isBelow(to, file)) : [from];
  const target = new ImportTarget(root, to, options.dryRun, launch);
  const configs = new Configs(launch);
  configs.trust([to]);
  await configs.read([join(to, 'any.ai')]);
  const { resolved } = configs.forFile(join(to, 'any.ai'));
  const servers = new Set(Object.keys(resolved.servers));
  let modelAliases = resolved.modelAliases;
  for (const file of found.filter(isConfigFile)) {
    const imported = target.addConfig(file);
    for (const name of Object.keys(imported['mcpServers'] ?? {})) servers.add(name);
    modelAliases = { ...(imported['modelAliases'] as typeof modelAliases), ...modelAliases };
  }
  const hasTool = (name: string): boolean => runtimeTools.includes(name) || servers.has(name.split('/', 1)[0]!);
  const agents = found.filter((one) => !isConfigFile(one));
  const names = agentNames(agents, to);
  const own = agents.filter(isAgentFile).map((file) => {
    const text = readFileSync(file, 'utf8');
    const imported = importAgentFile(relative(root, file), text, { parseYaml, modelAliases, hasTool });
    return { file, imported, isUnchanged: imported.text === text && imported.notes.length === 0 };
  });
  // Agents of this runtime in this folder are in use as they are, with their config.
  if (from === launch.cwd && to !== from && own.every(({ isUnchanged }) => isUnchanged) && target.isConfigOwn())
    target.leaveInPlace(own.map(({ file }) => file));
  else for (const { file, imported } of own) target.addAgentFile(file, imported);
  target.writeConfig();
  for (const file of agents.filter((one) => !isAgentFile(one))) {
    const agent = readForeignAgent(file, readFileSync(file, 'utf8'), {
      parseYaml,
      modelAliases,
      hasServer: (name) => servers.has(name),
      findAgent: (name) => names.get(toAgentName(name)) ?? null,
    });
    target.addAgent(file, agentNameFromPath(file), { text: foreignAgentText(agent), notes: agent.notes });
  }
  return target.report(findForeignSkills(root, to, (path) => displayPath(path, launch)));
};

const importedKinds =
  'a .md file with `name` and `description`, *.agent.md, *.chatmode.md, an .ai file, .mcp.json, or .ai-agent.json';

const ownConfigName = '.ai-agent.json';

const isConfigFile = (path: string): boolean => ['.mcp.json', 'mcp.json', ownConfigName].includes(basename(path));

const isBelow = (folder: string, file: string): boolean => !relative(folder, file).startsWith('..');

/** The names of agents here, by all names under which others call them there. */
const agentNames = (files: readonly string[], to: string): ReadonlyMap<string, string> => {
  const here = pathKind(to) === 'folder' ? listAgentFiles(to).map(agentNameFromPath) : [];
  const names = new Map(here.map((name) => [name, name]));
  for (const file of files) {
    const name = agentNameFromPath(file);
    const shown = isAgentFile(file) ? null : foreignDisplayName(readFileSync(file, 'utf8'), parseYaml);
    if (shown !== null && !names.has(toAgentName(shown))) names.set(toAgentName(shown), name);
    names.set(name, name);
  }
  return names;
};

/** The configs and agents in a folder and below it. */
const foreignFiles = (folder: string): readonly string[] => [
  ...[ownConfigName, '.mcp.json', '.vscode/mcp.json']
    .map((name) => join(folder, name))
    .filter((path) => pathKind(path) === 'file'),
  ...listAgentFiles(folder),
  ...listForeignAgents(folder),
];

const bytesMax = 1_000_000;

type Imported = { readonly text: string; readonly notes: readonly ImportNote[] };

type ReadConfigFile = {
  readonly file: string;
  readonly config: JsonObject;
  readonly notes: readonly ImportNote[];
  /** It is a config of this runtime that can stay where it is. */
  readonly isUsable: boolean;
};

class ImportTarget {
  readonly #root: string;
  readonly #to: string;
  readonly #dryRun: boolean;
  readonly #launch: LaunchEnvironment;
  readonly #files: ImportedFile[] = [];
  readonly #configs: ReadConfigFile[] = [];
  /** What this import has written or would write. */
  readonly #taken = new Set<string>();

  constructor(root: string, to: string, dryRun: boolean, launch: LaunchEnvironment) {
    this.#root = root;
    this.#to = to;
    this.#dryRun = dryRun;
    this.#launch = launch;
  }

  /** The config can be used from now on; it is written with the others. */
  addConfig(file: string): JsonObject {
    const text = readFileSync(file, 'utf8');
    const { config, notes } = importConfig(file, text, this.#to);
    const { cleaned, dropped } = withUsableDefaults(config);
    const all = [...notes, ...dropped];
    if (cleaned === null) {
      this.#files.push({ from: this.#show(file), to: null, what: 'config', state: 'failed', notes: all });
      return {};
    }
    // What only another folder changes is no change for a config that stays.
    const here = basename(file) === ownConfigName ? importConfig(file, text, dirname(file)) : null;
    const isUsable = here !== null && here.notes.length === 0 && dropped.length === 0;
    this.#configs.push({ file, config: cleaned, notes: all, isUsable });
    return cleaned;
  }

  /** Whether the config of the folder, if there is one, is one of this runtime. */
  isConfigOwn(): boolean {
    const own = join(this.#root, ownConfigName);
    return pathKind(own) === 'missing' || this.#configs.some(({ file, isUsable }) => file === own && isUsable);
  }

  leaveInPlace(agents: readonly string[]): void {
    const own = this.#configs.filter(({ file }) => basename(file) === ownConfigName);
    for (const one of own) this.#configs.splice(this.#configs.indexOf(one), 1);
    const leave = (file: string, what: ImportedFile['what']): void =>
      void this.#files.push({ from: this.#show(file), to: null, what, state: 'found', notes: [] });
    for (const { file } of own) leave(file, 'config');
    for (const file of agents) leave(file, 'agent');
  }

  /** All configs become one file, which is compared and written once. */
  writeConfig(): void {
    const merged = this.#configs.reduce<JsonObject>((before, { config }) => mergeConfigs(before, config), {});
    const sources = this.#configs.map(({ file, notes }) => ({ from: this.#show(file), notes }));
    if (sources.length === 0) return;
    const state = this.#put(join(this.#to, ownConfigName), `${JSON.stringify(merged, null, 2)}\n`);
    const to = this.#show(join(this.#to, ownConfigName));
    this.#files.unshift(...sources.map((source) => ({ ...source, to, what: 'config' as const, state })));
  }

  /** Relative paths in it stay right, because it keeps its place below the folder. */
  addAgentFile(file: string, imported: Imported): void {
    this.#write(file, join(this.#to, relative(this.#root, file)), 'agent', imported);
    const pending = [{ path: file, text: imported.text }];
    for (let one = pending.pop(); one !== undefined; one = pending.pop())
      for (const name of includedNames(one.text)) {
        const path = resolveInside(this.#root, resolve(dirname(one.path), name));
        const to = path === null ? '' : join(this.#to, relative(this.#root, path));
        if (path === null || this.#taken.has(to) || statSync(path).size > bytesMax) continue;
        const text = readFileSync(path, 'utf8');
        this.#write(path, to, 'include', { text, notes: [] });
        pending.push({ path, text });
      }
  }

  addAgent(file: string, name: string, { text, notes }: Imported): void {
    let free = name;
    for (let next = 2; this.#taken.has(join(this.#to, `${free}.ai`)); next++) free = `${name.slice(0, 60)}-${next}`;
    const clash: readonly ImportNote[] =
      free === name
        ? []
        : [
            {
              kind: 'changed',
              line: null,
              key: null,
              message: `Another file is named ${name}, so this agent is ${free}.`,
            },
          ];
    this.#write(file, join(this.#to, `${free}.ai`), 'agent', { text, notes: [...clash, ...notes] });
  }

  report(skills: readonly ImportedFile[]): ImportReport {
    this.#files.push(...skills);
    const ok = this.#files.length > 0 && this.#files.every(({ state }) => state !== 'exists' && state !== 'failed');
    return { ok, to: this.#show(this.#to), files: this.#files };
  }

  #write(file: string, target: string, what: ImportedFile['what'], { text, notes }: Imported): void {
    const state = this.#put(target, text);
    this.#files.push({ from: this.#show(file), to: this.#show(target), what, state, notes });
  }

  #put(target: string, text: string): ImportedFile['state'] {
    this.#taken.add(target);
    const before = existsSync(target) ? readFileSync(target, 'utf8') : null;
    const state = before === text ? 'same' : before !== null ? 'exists' : this.#dryRun ? 'planned' : 'written';
    if (state === 'written') {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    return state;
  }

  #show(path: string): string {
    return displayPath(path, this.#launch);
  }
}

/** What the first says holds. */
const mergeConfigs = (one: JsonObject, other: JsonObject): JsonObject => {
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(
    keys.map((key) => {
      const [first, second] = [one[key], other[key]];
      return [key, isObject(first) && isObject(second) ? { ...second, ...first } : (first ?? second)];
    }),
  );
};

/** Defaults are keys of agent files, which the config itself does not know. */
const withUsableDefaults = (
  config: JsonObject | null,
): { readonly cleaned: JsonObject | null; readonly dropped: readonly ImportNote[] } => {
  const { defaults } = config ?? {};
  if (config === null || !isObject(defaults)) return { cleaned: config, dropped: [] };
  const { problems } = parseDefaults(defaults, { file: '.ai-agent.json' });
  const perAgent = perAgentKeyProblems(defaults).map(({ key, message }) => [key!.split('.')[1]!, message] as const);
  const wrong = new Map([
    ...problems.map(({ key, message }) => [key?.split('.')[0] ?? '', message] as const),
    ...perAgent,
  ]);
  const kept = Object.fromEntries(Object.entries(defaults).filter(([key]) => !wrong.has(key)));
  const dropped = [...wrong].map(([key, message]): ImportNote => ({
    kind: 'dropped',
    line: null,
    key: `defaults.${key}`,
    message,
  }));
  return { cleaned: { ...config, defaults: kept }, dropped };
};
