// The operator's configuration as each agent sees it: the layers that apply where its file lies.
import { dirname, resolve } from 'node:path';
import { canonicalJson } from '#base';
import type { JsonObject } from '#base';
import type { ConfigLayer, Frontmatter, Problem } from '#contracts';
import { readConfigLayers } from '#adapters/config';
import { parseDefaults, resolveConfig } from '#core/registry';
import type { ResolvedConfig } from '#core/registry';
import { shownPath } from './place.ts';
import type { Place } from './place.ts';

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
  readonly #place: Place;
  readonly #known = new Map<string, Config>();

  constructor(place: Place) {
    this.#place = place;
  }

  /** Reads what applies to these files, and to agents that have none. */
  async read(files: Iterable<string>): Promise<void> {
    const folders = new Set([this.#place.cwd]);
    for (const file of files) folders.add(dirname(file));
    for (const folder of folders) if (!this.#known.has(folder)) this.#known.set(folder, await this.#readOne(folder));
  }

  /** What applies to an agent's file; null: to an agent made in code. */
  of(file: string | null): Config {
    return this.#known.get(file === null ? this.#place.cwd : dirname(file)) ?? this.#known.get(this.#place.cwd)!;
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

const ownNames = ['description', 'usage', 'toolName', 'agents'] as const;

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
      message: `\`${key}\` belongs to one agent: write it into that agent's file.`,
      nearest: null,
    }));
