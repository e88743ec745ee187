// Creates the models and tool sources of each session, for it alone, from the operator's config and the session's overlay.
//
//   resources-checked-first. Everything an agent names is looked up before anything runs; everything missing is reported
//       together.
//   resources-not-shared. A session gets new provider instances and new clients; it shares none of them with another session.
import { CloisterError } from '#base';
import type {
  Agent,
  AgentNeeds,
  Model,
  ModelSummary,
  Overlay,
  PassedOverModel,
  Redact,
  SessionResources,
  SourceUse,
} from '#contracts';
import { withKnownFacts } from '#adapters/models';
import { Redactors, collectSecrets, missingVariablesMessage, overlayFor, requiredVariables } from '#core/registry';
import type { Secrets } from '#core/registry';
import { codeSources, resourcesFromCode, needsConfig, notLookedUp, withChildren } from './resources-from-code.ts';
import type { Configs } from './configs.ts';
import { findRequiredConfig, providerName, toolsByServer } from './required-config.ts';
import type { RequiredConfig, UnlocatedProblem } from './required-config.ts';
import { prepareModel } from './prepare-model.ts';
import { prepareServer } from './prepare-server.ts';

type Recipe = {
  readonly agent: Pick<Agent, 'file' | 'resources'>;
  readonly models: readonly PreparedModel[];
  /** Those whose provider lacks variables. */
  readonly lacking: readonly PassedOverModel[];
  readonly sources: readonly {
    readonly name: string;
    readonly only: readonly string[] | null;
    make(): SourceUse['source'];
  }[];
  readonly secrets: readonly SourcedSecrets[];
};

type PreparedModel = { readonly name: string; readonly summary: ModelSummary; make(): Model };

/** The values of one provider, or of one server, which a session without that server does not have. */
type SourcedSecrets = { readonly server: string | null; readonly own: readonly string[] };

type ResourceResolverOptions = {
  /** For agents that name no model. */
  readonly fallback: readonly Model[];
  /** Inspects only: modules must exist, but are not run. */
  readonly inspectOnly: boolean;
  /** Variables may be missing, because nothing will be connected to. */
  readonly offline: boolean;
};

export class ResourceResolver {
  readonly #configs: Configs;
  readonly #fallback: readonly Model[];
  readonly #inspectOnly: boolean;
  readonly #offline: boolean;
  readonly #recipes = new Map<string, Recipe>();
  /** Recipes that were looked up, until more are prepared. */
  #byAgent = new WeakMap<Agent, Recipe>();
  readonly #resourcesFromCode: (agent: Agent) => SessionResources;
  readonly #redactors = new Redactors();
  /** Variables whose values can be guessed, and those too short to be redacted at all, by agent. */
  readonly weakSecrets: (Pick<Secrets, 'weak' | 'tooShort'> & { readonly agent: string })[] = [];

  constructor(configs: Configs, { fallback, inspectOnly, offline }: ResourceResolverOptions) {
    this.#configs = configs;
    this.#fallback = fallback;
    this.#inspectOnly = inspectOnly;
    this.#offline = offline;
    this.#resourcesFromCode = resourcesFromCode(fallback);
  }

  /** Looks up everything that these agents and their children name. */
  async prepare(agents: readonly Agent[], report: (agent: Agent, problem: UnlocatedProblem) => void): Promise<void> {
    const all = withChildren(agents);
    const compactors = new Set([...all].map(({ children: { compactor } }) => compactor));
    for (const agent of all) {
      const key = recipeKey(agent);
      if (key === null || this.#recipes.has(key)) continue;
      // Without its compactor, an agent works as if it had none.
      const isOptional = compactors.has(agent);
      this.#recipes.set(key, await this.#lookUp(agent, isOptional, (problem) => report(agent, problem)));
      this.#byAgent = new WeakMap();
    }
  }

  /** For the cells of this agent, also with these models instead of its own; without an agent, for places outside any cell. */
  redactFor(agent: Agent | null, models: readonly string[] = []): Redact | null {
    if (agent === null) return this.#redactors.forEveryone;
    const { resources } = agent;
    return this.#redactors.forAgent(agent, models, () =>
      [agent, ...models.map((model) => ({ ...agent, resources: { ...resources, models: [model] } }))].flatMap((one) =>
        this.#ownSecrets(one),
      ),
    );
  }

  #ownSecrets(agent: Agent): readonly string[] {
    return this.#findRecipe(agent)?.secrets.flatMap(({ own }) => own) ?? [];
  }

  /** The agent's models that cannot be used, because variables have no value; undefined: none. */
  passedOver(agent: Agent): readonly PassedOverModel[] | undefined {
    const lacking = this.lackingModels(agent);
    return lacking.length === 0 || lacking.length === agent.resources.models.length ? undefined : lacking;
  }

  /** The same, even if they are all the models that the agent has. */
  lackingModels(agent: Agent): readonly PassedOverModel[] {
    return (needsConfig(agent) ? this.#findRecipe(agent)?.lacking : undefined) ?? [];
  }

  resourcesFor(agent: Agent, without?: readonly string[]): SessionResources {
    if (!needsConfig(agent)) return this.#resourcesFromCode(agent);
    const recipe = this.#recipeFor(agent);
    return {
      models: this.#models(agent, recipe, without).map((model) => ('make' in model ? model.make() : model)),
      sources: [
        ...codeSources(agent),
        ...recipe.sources.map((source) => ({ only: source.only, source: source.make() })),
      ],
    };
  }

  modelsOf(agent: Agent): readonly ModelSummary[] {
    if (!needsConfig(agent)) return this.#resourcesFromCode(agent).models;
    const models = this.#models(agent, this.#recipeFor(agent));
    return models.map((model) => ('make' in model ? model.summary : model));
  }

  #recipeFor(agent: Agent): Recipe {
    const recipe = this.#findRecipe(agent);
    if (recipe === undefined) throw notLookedUp(agent);
    return recipe;
  }

  #models(agent: Agent, recipe: Recipe, without?: readonly string[]): readonly (PreparedModel | Model)[] {
    const left = without ?? this.passedOver(agent)?.map(({ model }) => model) ?? [];
    const models = agent.resources.models.flatMap((model): readonly (PreparedModel | Model)[] => {
      if (typeof model !== 'string') return [withKnownFacts(model)];
      return left.includes(model) ? [] : [recipe.models.find(({ name }) => name === model)!];
    });
    return models.length > 0 ? models : this.#fallback.map(withKnownFacts);
  }

  /** The context size of the agent's first model, if known. */
  contextTokens(agent: Agent): number | undefined {
    const [first = this.#fallback[0]] = agent.resources.models;
    if (typeof first !== 'string') return first?.contextTokens;
    return this.#findRecipe(agent)?.models.find(({ name }) => name === first)?.summary.contextTokens;
  }

  /** The agent's own recipe; for an agent that a model defined, its parent's recipe with fewer tools. */
  #findRecipe(agent: Agent): Recipe | undefined {
    const known = this.#byAgent.get(agent);
    if (known !== undefined) return known;
    const recipe = this.#recipes.get(recipeKey(agent) ?? '') ?? this.#partOfParent(agent);
    if (recipe !== undefined) this.#byAgent.set(agent, recipe);
    return recipe;
  }

  #partOfParent(agent: Agent): Recipe | undefined {
    const whole = [...this.#recipes.values()].find((recipe) => covers(recipe.agent, agent));
    if (whole === undefined) return undefined;
    const uses = toolsByServer(agent.resources.servers);
    const sources = whole.sources.flatMap((source) => {
      const only = uses.get(source.name);
      return only === undefined ? [] : [{ ...source, only }];
    });
    const secrets = whole.secrets.filter(({ server }) => server === null || uses.has(server));
    return { ...whole, sources, secrets };
  }

  async #lookUp(agent: Agent, isOptional: boolean, report: (problem: UnlocatedProblem) => void): Promise<Recipe> {
    const { resolved, layers } = this.#configs.forFile(agent.file);
    const { providers, servers, problems } = findRequiredConfig(agent.resources, resolved);
    for (const problem of problems) report(problem);
    const declared = declaredEntries({ providers, servers });
    const found = overlayFor(
      declared.map(({ value }) => value),
      layers,
    );
    const { overlay, missing } = this.#offline ? withFakeValues(found) : found;
    const lacking = modelsLacking(agent.resources.models, providers, missing);
    const hasModel = isOptional || lacking.length < agent.resources.models.length;
    const lost = missingVariables(hasModel ? [] : lacking, { servers, missing });
    for (const key of ['models', 'tools'] as const)
      if (lost[key].length > 0) report({ key, message: `${missingVariablesMessage(lost[key])}.`, nearest: null });
    const secrets = this.#collectSecrets(agent, declared, { overlay, plain: resolved.plain });
    if (problems.length + lost.models.length + lost.tools.length > 0)
      return { agent, models: [], lacking, sources: [], secrets };

    const attempt = async <T>(key: UnlocatedProblem['key'], make: () => Promise<T>): Promise<readonly T[]> => {
      try {
        return [await make()];
      } catch (error) {
        if (!(error instanceof CloisterError)) throw error;
        const remedy = error.code === 'server_missing' ? ` ${error.suggestion}` : '';
        report({ key, message: `${error.message}${remedy}`, nearest: null });
        return [];
      }
    };
    const { caching } = agent.resources;
    const inspectOnly = this.#inspectOnly;
    const models = await flatMapInOrder(
      agent.resources.models.filter((model) => typeof model === 'string'),
      (name) =>
        attempt('models', async () => {
          const make = await prepareModel(name, {
            sourced: providers.get(providerName(name))!,
            // probe: provider-variables
            overlay,
            caching,
            inspectOnly,
            missing: lacking.find(({ model }) => model === name)?.missing ?? [],
          });
          // Creating a model now reveals an invalid key or address before anything runs.
          const { language, ...facts } = make();
          return { name, summary: { ...facts, language: { modelId: language.modelId } }, make };
        }),
    );
    const sources = await flatMapInOrder([...servers], ([name, { sourced, only }]) =>
      attempt('tools', async () => ({
        name,
        only,
        make: this.#offline
          ? () => ({ name, list: unreachable })
          : await prepareServer(name, only, {
              sourced,
              // probe: server-variables
              overlay,
              env: this.#configs.launch.env,
              inspectOnly,
            }),
      })),
    );
    return { agent, models, lacking, sources, secrets };
  }

  #collectSecrets(
    { name: agent }: Agent,
    declared: ReturnType<typeof declaredEntries>,
    { overlay, plain }: { readonly overlay: Overlay; readonly plain: readonly string[] },
  ): readonly SourcedSecrets[] {
    const collected = declared.map(({ label, value, server }) => ({
      server,
      ...collectSecrets([[label, value]], overlay, plain),
    }));
    // probe: secrets-for-everyone
    this.#redactors.add(collected.flatMap(({ strong }) => strong));
    const weak = [...new Set(collected.flatMap((one) => one.weak))];
    const tooShort = [...new Set(collected.flatMap((one) => one.tooShort))];
    if (weak.length + tooShort.length > 0) this.weakSecrets.push({ agent, weak, tooShort });
    return collected;
  }
}

/** The named models whose providers lack variables. */
const modelsLacking = (
  models: AgentNeeds['models'],
  providers: RequiredConfig['providers'],
  missing: readonly string[],
): readonly PassedOverModel[] =>
  models.flatMap((model) => {
    const provider = typeof model === 'string' ? providers.get(providerName(model)) : undefined;
    const names =
      provider === undefined ? [] : requiredVariables(provider.value).filter((one) => missing.includes(one));
    return names.length === 0 ? [] : [{ model: model as string, missing: [...new Set(names)] }];
  });

/** The variables without which the agent cannot run: those of these models and those of its servers. */
const missingVariables = (
  lacking: readonly PassedOverModel[],
  { servers, missing }: Pick<RequiredConfig, 'servers'> & { readonly missing: readonly string[] },
): Readonly<Record<'models' | 'tools', readonly string[]>> => {
  const ofModels = new Set(lacking.flatMap((one) => one.missing));
  const ofServers = new Set([...servers.values()].flatMap(({ sourced }) => requiredVariables(sourced.value)));
  return { models: [...ofModels], tools: missing.filter((name) => ofServers.has(name)) };
};

/** The providers and servers that an agent uses, with their names for messages. */
const declaredEntries = ({ providers, servers }: Pick<RequiredConfig, 'providers' | 'servers'>) => [
  ...[...providers].map(([name, { value }]) => ({ label: `providers.${name}`, value, server: null })),
  ...[...servers].map(([name, { sourced }]) => ({ label: `mcpServers.${name}`, value: sourced.value, server: name })),
];

const unreachable = async (): Promise<never> => {
  throw new CloisterError('offline');
};

/** Any value will do, because nothing is sent. */
const withFakeValues = ({ overlay, missing }: ReturnType<typeof overlayFor>): ReturnType<typeof overlayFor> => ({
  overlay: Object.freeze({ ...overlay, ...Object.fromEntries(missing.map((name) => [name, 'offline'])) }),
  missing: [],
});

const flatMapInOrder = async <T, U>(
  items: readonly T[],
  work: (item: T) => Promise<readonly U[]>,
): Promise<readonly U[]> => {
  const done: U[] = [];
  for (const item of items) done.push(...(await work(item)));
  return done;
};

/** Whether one has the same models from the same file, and at least the same tools. */
const covers = (one: Recipe['agent'], { file, resources: { caching, models, servers } }: Agent): boolean =>
  one.file === file &&
  one.resources.caching === caching &&
  one.resources.models.length === models.length &&
  one.resources.models.every((model, index) => isSameModel(model, models[index]!)) &&
  servers.every((server) => one.resources.servers.includes(server));

const isSameModel = (one: Model | string, other: Model | string): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object' && one.language === other.language);

/** Identifies what an agent needs from the config, and which config; null when it needs nothing. */
const recipeKey = (agent: Agent): string | null => {
  // probe: equipment-key
  const { file, resources } = agent;
  const { caching, models, servers } = resources;
  return needsConfig(agent)
    ? JSON.stringify([file, caching, models.filter((model) => typeof model === 'string'), servers])
    : null;
};
