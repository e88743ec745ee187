// The operator's configuration as each agent sees it: the layers that apply where its file lies.
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { canonicalJson } from '#base';
import type { JsonObject } from '#base';
import type { ConfigLayer, Frontmatter, Problem } from '#contracts';
import { readConfigLayers } from '#adapters/config';
import { parseDefaults, resolveConfig } from '#core/registry';
import type { ResolvedConfig } from '#core/registry';
import { pathKind } from './find-files.ts';
import { shownPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

export type Config = {
  readonly layers: readonly ConfigLayer[];
  readonly resolved: ResolvedConfig;
  readonly defaults: Partial<Frontmatter>;
  /** Where agents are looked for by name. */
  readonly folders: readonly string[];
};

export class Configs {
  readonly problems: Problem[] = [];
  readonly #told = new Set<string>();
  readonly #trusted: string[];
  /** Whose config applies to files in a folder: decided once. */
  readonly #folders = new Map<string, string>();
  readonly #fallback: string;
  readonly #place: LaunchEnvironment;
  readonly #known = new Map<string, Config>();

  /** `named`: what the person named; only there, and below, is a config beside a file believed. */
  constructor(place: LaunchEnvironment, named: readonly string[] = []) {
    this.#place = place;
    this.#trusted = [place.cwd, ...named.map((path) => (pathKind(path) === 'folder' ? path : dirname(path)))];
    this.#fallback = this.#trusted[1] ?? place.cwd;
  }

  /** Reads what applies to these files, and to agents that have none. */
  async read(files: Iterable<string>): Promise<void> {
    const folders = new Set([this.#place.cwd]);
    for (const file of files) folders.add(this.#folderOf(file));
    for (const folder of folders) if (!this.#known.has(folder)) this.#known.set(folder, await this.#readOne(folder));
  }

  /** What applies to an agent's file; null: to an agent made in code. */
  of(file: string | null): Config {
    // probe: config-of-file
    return this.#known.get(this.#folderOf(file)) ?? this.#known.get(this.#place.cwd)!;
  }

  /** A file that another file named, elsewhere or in a hidden folder, brings no config along: it might have been written for that. */
  #folderOf(file: string | null): string {
    if (file === null) return this.#place.cwd;
    const folder = dirname(file);
    let known = this.#folders.get(folder);
    if (known === undefined) {
      known = this.#trusted.some((trusted) => isBelow(trusted, folder)) ? folder : this.#fallback;
      this.#folders.set(folder, known);
    }
    return known;
  }

  async #readOne(beside: string): Promise<Config> {
    const { cwd, home, config, env } = this.#place;

    const { layers, problems } = await readConfigLayers({
      cwd,
      home,
      beside,
      env,
      ...(config === undefined ? {} : { explicit: config }),
    });
    this.#tell(problems);
    const resolved = resolveConfig(layers);
    const { frontmatter, problems: wrong } = parseDefaults(resolved.defaults, {
      file: '.ai-agent.json',
      under: ['defaults'],
    });
    const source = ({ key, file }: Problem): string => resolved.defaultSources[key?.split('.')[1] ?? ''] ?? file;
    this.#tell([...wrong, ...ownKeys(resolved.defaults)].map((problem) => ({ ...problem, file: source(problem) })));
    const folders = resolved.agents.map(({ folder, path }) => resolve(folder, path));
    this.#trusted.push(...folders);
    return {
      layers,
      resolved,
      defaults: withoutOwn(frontmatter ?? {}),
      folders: [...folders, resolve(home, '.ai-agent/agents')],
    };
  }

  /** A file that applies in several places is told of once. */
  #tell(problems: readonly Problem[]): void {
    for (const told of problems) {
      const problem = { ...told, file: shownPath(told.file, this.#place) };
      const words = canonicalJson(problem);
      if (this.#told.has(words)) continue;
      this.#told.add(words);
      this.problems.push(problem);
    }
  }
}

const ownNames = [
  'description',
  'usage',
  'toolName',
  'input',
  'output',
  'tools',
  'agents',
  'grants',
  'spawns',
  'messages',
  'topics',
] as const;

const withoutOwn = (defaults: Partial<Frontmatter>): Partial<Frontmatter> =>
  Object.fromEntries(Object.entries(defaults).filter(([key]) => !(ownNames as readonly string[]).includes(key)));

/** Keys that say what one agent is: no other can have them by default. */
const ownKeys = (defaults: JsonObject): readonly Problem[] =>
  ownNames
    .filter((key) => Object.hasOwn(defaults, key))
    .map((key) => ({
      file: '.ai-agent.json',
      line: null,
      key: `defaults.${key}`,
      message: `\`${key}\` belongs to one agent: write it into that agent's file.${key === 'spawns' ? ' What all of them may at most stands in `spawns` beside `defaults`.' : ''}`,
      nearest: null,
    }));

const isBelow = (folder: string, path: string): boolean => {
  const between = relative(folder, path);
  return between === '' || (!isAbsolute(between) && between.split(sep).every((part) => !part.startsWith('.')));
};
