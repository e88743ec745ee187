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
import { isAgentFile, listAgentFiles, listForeignAgents, pathKind } from './find-files.ts';
import { findForeignSkills } from './import-skills.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { runtimeTools } from './required-config.ts';

type ImportOptions = { readonly path: string; readonly to: string; readonly dryRun: boolean };

export const importAgents = async (options: ImportOptions, launch: LaunchEnvironment): Promise<ImportReport> => {
  const from = resolve(launch.cwd, options.path);
  const to = resolve(launch.cwd, options.to);
  if (pathKind(from) === 'missing')
    throw new CloisterError('agent_unknown', `No such file or folder: ${options.path}.`);
  const root = pathKind(from) === 'folder' ? from : dirname(from);
  const found =
    pathKind(from) === 'folder' ? foreignFiles(from).filter((file) => to === from || !isBelow(to, file)) : [from];
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
  for (const file of agents) {
    const text = readFileSync(file, 'utf8');
    if (isAgentFile(file))
      target.addAgentFile(file, importAgentFile(relative(root, file), text, { parseYaml, modelAliases, hasTool }));
    else {
      const agent = readForeignAgent(file, text, {
        parseYaml,
        modelAliases,
        hasServer: (name) => servers.has(name),
        findAgent: (name) => names.get(toAgentName(name)) ?? null,
      });
      target.addAgent(file, agentNameFromPath(file), { text: foreignAgentText(agent), notes: agent.notes });
    }
  }
  return target.report(findForeignSkills(root, to, (path) => displayPath(path, launch)));
};

const isConfigFile = (path: string): boolean => ['.mcp.json', 'mcp.json', '.ai-agent.json'].includes(basename(path));

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
  ...['.ai-agent.json', '.mcp.json', '.vscode/mcp.json']
    .map((name) => join(folder, name))
    .filter((path) => pathKind(path) === 'file'),
  ...listAgentFiles(folder),
  ...listForeignAgents(folder),
];

const bytesMax = 1_000_000;

type Imported = { readonly text: string; readonly notes: readonly ImportNote[] };

class ImportTarget {
  readonly #root: string;
  readonly #to: string;
  readonly #dryRun: boolean;
  readonly #launch: LaunchEnvironment;
  readonly #files: ImportedFile[] = [];
  /** What this import has written or would write. */
  readonly #taken = new Map<string, string>();

  constructor(root: string, to: string, dryRun: boolean, launch: LaunchEnvironment) {
    this.#root = root;
    this.#to = to;
    this.#dryRun = dryRun;
    this.#launch = launch;
  }

  /** What is written so far. */
  addConfig(file: string): JsonObject {
    const { config, notes } = importConfig(file, readFileSync(file, 'utf8'));
    const { cleaned, dropped } = withUsableDefaults(config);
    const all = [...notes, ...dropped];
    if (cleaned === null) {
      this.#files.push({ from: this.#show(file), to: null, what: 'config', state: 'failed', notes: all });
      return {};
    }
    const target = join(this.#to, '.ai-agent.json');
    const before = this.#taken.get(target);
    const merged = before === undefined ? cleaned : mergeConfigs(JSON.parse(before) as JsonObject, cleaned);
    this.#write(file, target, 'config', { text: `${JSON.stringify(merged, null, 2)}\n`, notes: all });
    return merged;
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
    const isOurs = this.#taken.has(target);
    this.#taken.set(target, text);
    const before = existsSync(target) && !isOurs ? readFileSync(target, 'utf8') : null;
    const state = before === text ? 'same' : before !== null ? 'exists' : this.#dryRun ? 'planned' : 'written';
    if (state === 'written') {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    this.#files.push({ from: this.#show(file), to: this.#show(target), what, state, notes });
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
