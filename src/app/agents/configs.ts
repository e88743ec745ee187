// The operator's configuration for each agent: the layers that apply in the folder of its file.
//
//   One object serves a whole command: finding the agent, the default agent, and loading agents read each file once.
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { canonicalJson } from '#base';
import type { JsonObject } from '#base';
import type { ConfigLayer, Frontmatter, IndeterminatePolicy, KeepRules, Problem } from '#contracts';
import { ConfigFiles, readConfigLayers } from '#adapters/config';
import type { ConfigNote } from '#adapters/config';
import { parseDefaults, resolveConfig } from '#core/registry';
import type { ResolvedConfig } from '#core/registry';
import { pathKind } from './find-files.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { problemsError } from './problems.ts';

export type Config = {
  readonly layers: readonly ConfigLayer[];
  readonly resolved: ResolvedConfig;
  readonly defaults: Partial<Frontmatter>;
  /** Folders searched for agents by name. */
  readonly folders: readonly string[];
  /** Folders whose skills agent files may name. */
  readonly skillFolders: readonly string[];
  /** A `.mcp.json` in the working folder that no config names, as a config there would name it. */
  readonly unusedMcpFile: string | null;
};

export class Configs {
  readonly problems: Problem[] = [];
  readonly notes: ConfigNote[] = [];
  readonly #reported = new Set<string>();
  readonly #trusted: string[];
  /** For each folder with files, the folder whose config applies; decided once. */
  readonly #folders = new Map<string, string>();
  #fallback: string;
  readonly launch: LaunchEnvironment;
  readonly #files = new ConfigFiles();
  readonly #byFolder = new Map<string, Config>();

  constructor(launch: LaunchEnvironment) {
    this.launch = launch;
    this.#trusted = [launch.cwd];
    this.#fallback = launch.cwd;
  }

  /** `named`: the paths that the user named. A config beside a file is trusted only in or below those. */
  trust(named: readonly string[]): void {
    const folders = named.map((path) => (pathKind(path) === 'folder' ? path : dirname(path)));
    this.#trusted.push(...folders);
    this.#fallback = folders[0] ?? this.#fallback;
    this.#folders.clear();
  }

  /** The agent to use when none is named: `defaultAgent` in the config that applies to the working folder. */
  async defaultAgent(): Promise<string | null> {
    await this.read([]);
    return this.forFile(null).resolved.defaultAgent;
  }

  /** What happens to calls that a crash has interrupted, by the config that applies to the working folder. */
  async indeterminatePolicy(): Promise<IndeterminatePolicy | null> {
    await this.read([]);
    return this.forFile(null).resolved.indeterminate;
  }

  /** How long recorded runs are kept, by the config that applies to the working folder. Throws if that has problems: what is deleted is gone. */
  keepRules(): KeepRules | null {
    const { keep } = this.forFile(null).resolved;
    if (this.problems.length > 0) throw problemsError(this.problems);
    return keep;
  }

  /** Reads the config that applies to these files, and to agents without a file. */
  async read(files: Iterable<string>): Promise<void> {
    const folders = new Set([this.launch.cwd]);
    for (const file of files) folders.add(this.#configFolder(file));
    for (const folder of folders) this.#configOf(folder);
  }

  /** The config that applies to an agent's file; null: to an agent in code. */
  forFile(file: string | null): Config {
    // probe: config-of-file
    return this.#configOf(this.#configFolder(file));
  }

  /** A problem of a config file that shows only when it is used. */
  locate(...at: Parameters<ConfigFiles['locate']>): Problem {
    const problem = this.#files.locate(...at);
    return { ...problem, file: displayPath(problem.file, this.launch) };
  }

  /** Agents that only other files name are known one by one, so their config is read when it is first asked for. */
  #configOf(folder: string): Config {
    let config = this.#byFolder.get(folder);
    if (config === undefined) this.#byFolder.set(folder, (config = this.#readOne(folder)));
    return config;
  }

  /** A file that only another file named, elsewhere or in a hidden folder, does not bring its own config: it could be an attack. */
  #configFolder(file: string | null): string {
    if (file === null) return this.launch.cwd;
    const folder = dirname(file);
    let known = this.#folders.get(folder);
    if (known === undefined) {
      known = this.#trusted.some((trusted) => isBelow(trusted, folder)) ? folder : this.#fallback;
      this.#folders.set(folder, known);
    }
    return known;
  }

  #readOne(beside: string): Config {
    const { cwd, home, config, env } = this.launch;

    const { layers, problems, notes } = readConfigLayers(
      {
        cwd,
        home,
        beside,
        env,
        ...(config === undefined ? {} : { explicit: config }),
      },
      this.#files,
    );
    this.#addProblems(problems);
    this.#addProblems(notes, this.notes);
    const resolved = resolveConfig(layers);
    const { frontmatter, problems: wrong } = parseDefaults(resolved.defaults, {
      file: '.ai-agent.json',
      under: ['defaults'],
    });
    const source = ({ key, file }: Problem): string => resolved.defaultSources[key?.split('.')[1] ?? ''] ?? file;
    this.#addProblems(
      [...wrong, ...perAgentKeyProblems(resolved.defaults)].map((problem) => ({ ...problem, file: source(problem) })),
    );
    const folders = resolved.agents.map(({ folder, path }) => resolve(folder, path));
    this.#trusted.push(...folders);
    return {
      layers,
      resolved,
      defaults: withoutPerAgentKeys(frontmatter ?? {}),
      folders: [...folders, resolve(home, '.ai-agent/agents')],
      skillFolders: resolved.skills.map(({ folder, path }) => resolve(folder, path)),
      unusedMcpFile: this.#unusedMcpFile(layers),
    };
  }

  #unusedMcpFile(layers: readonly ConfigLayer[]): string | null {
    const used = new Set(layers.map(({ source }) => source));
    const found = ['.mcp.json', '.vscode/mcp.json'].find((name) => {
      const path = resolve(this.launch.cwd, name);
      return !used.has(path) && pathKind(path) === 'file';
    });
    return found === undefined ? null : `./${found}`;
  }

  /** Reports each problem once, even if its file applies to several folders. */
  #addProblems(problems: readonly Problem[]): void;
  #addProblems<T extends Problem>(problems: readonly T[], to: T[]): void;
  #addProblems(problems: readonly Problem[], to = this.problems): void {
    for (const one of problems) {
      const problem = { ...one, file: displayPath(one.file, this.launch) };
      const key = canonicalJson(problem);
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      to.push(problem);
    }
  }
}

const perAgentKeys = [
  'description',
  'usage',
  'toolName',
  'input',
  'output',
  'tools',
  'skills',
  'agents',
  'grants',
  'spawns',
  'messages',
  'topics',
  'approve',
  'asks',
] as const;

const withoutPerAgentKeys = (defaults: Partial<Frontmatter>): Partial<Frontmatter> =>
  Object.fromEntries(Object.entries(defaults).filter(([key]) => !(perAgentKeys as readonly string[]).includes(key)));

/** Keys that describe a single agent cannot be defaults. */
export const perAgentKeyProblems = (defaults: JsonObject): readonly Problem[] =>
  perAgentKeys
    .filter((key) => Object.hasOwn(defaults, key))
    .map((key) => ({
      file: '.ai-agent.json',
      line: null,
      key: `defaults.${key}`,
      message: `\`${key}\` belongs to a single agent: set it in that agent's file.${besideDefaults[key] ?? ''}`,
      nearest: null,
    }));

const besideDefaults: Readonly<Record<string, string>> = {
  spawns: ' Set limits for all agents in `spawns`, beside `defaults`.',
  approve: ' Mark tools of all agents in `approve`, beside `defaults`.',
};

const isBelow = (folder: string, path: string): boolean => {
  const between = relative(folder, path);
  return between === '' || (!isAbsolute(between) && between.split(sep).every((part) => !part.startsWith('.')));
};
