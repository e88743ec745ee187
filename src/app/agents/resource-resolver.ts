// What each session works with: models and tool sources made for it alone, from the operator's config and its own overlay.
//
//   Q1. Everything an agent names is looked up before anything runs; all that is missing is told at once.
//   Q2. A session is handed new provider instances and new clients; nothing of them is shared with another session.
import { CloisterError } from '#base';
import type { Agent, SessionResources, Model, Redact, SourceUse } from '#contracts';
import { makeRedact, missingMessage, overlayFor, requiredOf, secretsOf } from '#core/registry';
import { codeSources, resourcesFromCode, namesAny, withChildren } from './resources-from-code.ts';
import type { Configs } from './configs.ts';
import { needsOf, providerOf, toolsByServer } from './required-config.ts';
import type { UnlocatedProblem } from './required-config.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { prepareModel } from './prepare-model.ts';
import { prepareServer } from './prepare-server.ts';

type Recipe = {
  readonly of: Pick<Agent, 'file' | 'caching' | 'models' | 'servers'>;
  readonly models: readonly (() => Model)[];
  /** Of each of those models, as it was looked up. */
  readonly contexts: readonly (number | undefined)[];
  readonly sources: readonly {
    readonly name: string;
    readonly only: readonly string[] | null;
    make(): SourceUse['source'];
  }[];
};

export type ResourceResolverOptions = {
  /** For agents that name no model. */
  readonly fallback: readonly Model[];
  /** Nothing is run: modules are only looked for. */
  readonly looking: boolean;
  /** Nothing will be reached: variables may be missing. */
  readonly offline: boolean;
};

export class ResourceResolver {
  readonly #configs: Configs;
  readonly #place: LaunchEnvironment;
  readonly #fallback: readonly Model[];
  readonly #looking: boolean;
  readonly #offline: boolean;
  readonly #recipes = new Map<string, Recipe>();
  readonly #equipPlainly: (agent: Agent) => SessionResources;
  readonly #secrets = new Set<string>();
  #redact: Redact | null | undefined;
  /** Variables whose values are too short to be redacted, by agent. */
  readonly tooShort: { readonly agent: string; readonly names: readonly string[] }[] = [];

  constructor(configs: Configs, place: LaunchEnvironment, { fallback, looking, offline }: ResourceResolverOptions) {
    this.#configs = configs;
    this.#place = place;
    this.#fallback = fallback;
    this.#looking = looking;
    this.#offline = offline;
    this.#equipPlainly = resourcesFromCode(fallback);
  }

  /** Looks up everything that these agents and those below them name. */
  async prepare(agents: readonly Agent[], tell: (agent: Agent, problem: UnlocatedProblem) => void): Promise<void> {
    for (const agent of withChildren(agents)) {
      const key = keyOf(agent);
      if (key === null || this.#recipes.has(key)) continue;
      this.#recipes.set(key, await this.#look(agent, (problem) => tell(agent, problem)));
    }
    this.#redact = undefined;
  }

  /** Null when nothing here is secret. */
  get redact(): Redact | null {
    return (this.#redact ??= makeRedact([...this.#secrets]));
  }

  equip(agent: Agent): SessionResources {
    if (!namesAny(agent)) return this.#equipPlainly(agent);
    const recipe = this.#recipeOf(agent);
    if (recipe === undefined)
      throw new CloisterError(
        'agent_unknown',
        `"${agent.name}" names models or servers of the config: hand it to openCloister.`,
      );
    const named = recipe.models.values();
    const models = agent.models.map((model) => (typeof model === 'string' ? named.next().value!() : model));
    return {
      models: models.length > 0 ? models : this.#fallback,
      sources: [
        ...codeSources(agent),
        ...recipe.sources.map((source) => ({ only: source.only, source: source.make() })),
      ],
    };
  }

  /** Of the model that it asks first, as far as it is known. */
  contextTokens(agent: Agent): number | undefined {
    const [first = this.#fallback[0]] = agent.models;
    if (typeof first !== 'string') return first?.contextTokens;
    return this.#recipeOf(agent)?.contexts[0];
  }

  /** Its own; or, for one that a model has described, of its parent's with fewer of the tools. */
  #recipeOf(agent: Agent): Recipe | undefined {
    const own = this.#recipes.get(keyOf(agent) ?? '');
    if (own !== undefined) return own;
    const whole = [...this.#recipes.values()].find(({ of }) => covers(of, agent));
    if (whole === undefined) return undefined;
    const uses = toolsByServer(agent.servers);
    const sources = whole.sources.flatMap((source) => {
      const only = uses.get(source.name);
      return only === undefined ? [] : [{ ...source, only }];
    });
    return { ...whole, sources };
  }

  async #look(agent: Agent, tell: (problem: UnlocatedProblem) => void): Promise<Recipe> {
    const { resolved, layers } = this.#configs.of(agent.file);
    const { providers, servers, problems } = needsOf(agent, resolved);
    for (const problem of problems) tell(problem);
    const declared = [
      ...[...providers].map(([name, { value }]) => [`providers.${name}`, value] as const),
      ...[...servers].map(([name, { placed }]) => [`mcpServers.${name}`, placed.value] as const),
    ];
    const found = overlayFor(
      declared.map(([, value]) => value),
      layers,
    );
    const { overlay, missing } = this.#offline ? pretended(found) : found;
    const asked = new Set([...providers.values()].flatMap(({ value }) => requiredOf(value)));
    for (const [key, names] of [
      ['models', missing.filter((name) => asked.has(name))],
      ['tools', missing.filter((name) => !asked.has(name))],
    ] as const)
      if (names.length > 0) tell({ key, message: `${missingMessage(names)}.`, nearest: null });
    this.#hide(agent, secretsOf(declared, overlay, resolved.plain));
    if (problems.length + missing.length > 0) return { of: agent, models: [], contexts: [], sources: [] };

    const trying = async <T>(key: UnlocatedProblem['key'], make: () => Promise<T>): Promise<readonly T[]> => {
      try {
        return [await make()];
      } catch (error) {
        if (!(error instanceof CloisterError)) throw error;
        tell({ key, message: error.message, nearest: null });
        return [];
      }
    };
    const { caching } = agent;
    const looking = this.#looking;
    const contexts: (number | undefined)[] = [];
    const models = await eachOf(
      agent.models.filter((model) => typeof model === 'string'),
      (name) =>
        trying('models', async () => {
          const make = await prepareModel(name, {
            placed: providers.get(providerOf(name))!,
            // probe: provider-variables
            overlay,
            caching,
            looking,
          });
          // A key or an address that cannot be used shows here, before anything runs.
          contexts.push(make().contextTokens);
          return make;
        }),
    );
    const sources = await eachOf([...servers], ([name, { placed, only }]) =>
      trying('tools', async () => ({
        name,
        only,
        make: this.#offline
          ? () => ({ name, list: unreachable })
          : await prepareServer(name, only, {
              placed,
              // probe: server-variables
              overlay,
              env: this.#place.env,
              looking,
            }),
      })),
    );
    return { of: agent, models, contexts, sources };
  }

  #hide({ name }: Agent, { values, tooShort }: ReturnType<typeof secretsOf>): void {
    for (const value of values) this.#secrets.add(value);
    if (tooShort.length > 0) this.tooShort.push({ agent: name, names: tooShort });
  }
}

const unreachable = async (): Promise<never> => {
  throw new CloisterError('offline');
};

/** Nothing will be sent anywhere, so any value will do. */
const pretended = ({ overlay, missing }: ReturnType<typeof overlayFor>): ReturnType<typeof overlayFor> => ({
  overlay: Object.freeze({ ...overlay, ...Object.fromEntries(missing.map((name) => [name, 'offline'])) }),
  missing: [],
});

const eachOf = async <T, U>(items: readonly T[], work: (item: T) => Promise<readonly U[]>): Promise<readonly U[]> => {
  const done: U[] = [];
  for (const item of items) done.push(...(await work(item)));
  return done;
};

/** The same models from the same place, and at least the same tools. */
const covers = (one: Recipe['of'], { file, caching, models, servers }: Agent): boolean =>
  one.file === file &&
  one.caching === caching &&
  one.models.length === models.length &&
  one.models.every((model, index) => isSameModel(model, models[index]!)) &&
  servers.every((server) => one.servers.includes(server));

const isSameModel = (one: Agent['models'][number], other: Agent['models'][number]): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object' && one.language === other.language);

/** What an agent names of the config, and where; null when it names nothing. */
const keyOf = (agent: Agent): string | null => {
  // probe: equipment-key
  const { file, caching, models, servers } = agent;
  return namesAny(agent)
    ? JSON.stringify([file, caching, models.filter((model) => typeof model === 'string'), servers])
    : null;
};
